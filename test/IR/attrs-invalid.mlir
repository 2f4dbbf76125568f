// RUN: shunt-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{expects 'tokens', 'inner' or 'partial', got 'rows'}}
func.func private @f(tensor<?x8xf32, #shunt.layout<@m, rows = [dp]>>)

// -----

// expected-error @below {{'tokens' given twice}}
func.func private @f(tensor<?x8xf32, #shunt.layout<@m, tokens = [dp], tokens = [tp]>>)

// -----

// expected-error @below {{axis 'dp' is used twice; an axis either splits the tokens, splits one inner dimension or holds partial sums [E_AXIS]}}
func.func private @f(tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, dp]>>)

// -----

// expected-error @below {{axis 'dp' is used twice}}
func.func private @f(tensor<?x8xf32, #shunt.layout<@m, tokens = [dp], inner = [[dp]]>>)

// -----

// expected-error @below {{axis 'tp' splits the tokens and holds partial sums: its ranks would add different tokens; gather the tokens over it first [X_ROW_MISMATCH]}}
func.func private @f(tensor<?x8xf32, #shunt.layout<@m, tokens = [tp], partial = [tp]>>)

// -----

// expected-error @below {{axis with an empty name; name it [E_AXIS]}}
func.func private @f(tensor<?x8xf32, #shunt.layout<@m, tokens = [""]>>)

// -----

// expected-error @below {{layout has 1 lists of inner axes but the tensor has 2 dimensions after the tokens; give one list each [X_SHAPE]}}
func.func private @f(tensor<?x8x8xf32, #shunt.layout<@m, tokens = [dp], inner = [[tp]]>>)

// -----

// expected-error @below {{a tensor of tokens needs a token dimension [X_SHAPE]}}
func.func private @f(tensor<f32, #shunt.layout<@m, tokens = []>>)

// -----

// expected-error @below {{a tensor of tokens needs a token dimension [X_SHAPE]}}
func.func private @f(tensor<f32, #shunt.auto>)

// -----

// expected-error @below {{shard has 1 lists of axes but the tensor has 2 dimensions; give one list each [X_SHAPE]}}
func.func private @f(tensor<8x8xf32, #shunt.shard<@m, [[tp]]>>)

// -----

// expected-error @below {{axis 'tp' is used twice}}
func.func private @f(tensor<8x8xf32, #shunt.shard<@m, [[tp], [tp]]>>)

// -----

// expected-error @below {{dimension 0 is split and must be static [X_SHAPE]}}
func.func private @f(tensor<?x8xf32, #shunt.shard<@m, [[tp], []]>>)

// -----

// expected-error @below {{expects 'owners', 'replicas' or 'split', got 'tokens'}}
func.func private @f(!shunt.batch<@m, tokens = [dp]>)

// -----

// expected-error @below {{'owners' given twice}}
func.func private @f(!shunt.batch<@m, owners = [dp], owners = [dp]>)

// -----

// expected-error @below {{axis 'dp' is used twice}}
func.func private @f(!shunt.batch<@m, owners = [dp, dp]>)

// -----

// expected-error @below {{replica axis 'cp' is not among the owners; add it to them [E_AXIS]}}
func.func private @f(!shunt.batch<@m, owners = [dp], replicas = [cp]>)

// -----

// expected-error @below {{replica axis 'dp' is listed twice; list it once [E_AXIS]}}
func.func private @f(!shunt.batch<@m, owners = [dp], replicas = [dp, dp]>)

// -----

// expected-error @below {{[E_SPLIT]}}
func.func private @f(!shunt.batch<@m, owners = [dp], split = "evenly">)

// -----

// expected-error @below {{[E_SPLIT]}}
func.func private @f(!shunt.batch<@m, owners = [dp], split = "align:0">)

// -----

// expected-error @below {{invalid kind of attribute specified}}
func.func private @f(tensor<?x8xf32, #shunt.layout<@a::@m, tokens = [dp]>>)
