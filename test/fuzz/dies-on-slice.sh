#!/bin/sh
# Stands for a tool that crashes on some programs.
grep -q 'shunt\.slice' && kill -SEGV $$
exit 0
