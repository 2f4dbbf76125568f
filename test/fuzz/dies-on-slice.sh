#!/bin/sh
# Stands for a tool that crashes on some programs.
ulimit -c 0
grep -q 'shunt\.slice' && kill -SEGV $$
exit 0
