#!/usr/bin/env bash
# Checks what greet.sh says.
cd "$(dirname "$0")" || exit 1
. ./greet.sh

expected='Hello, Ada!'
actual=$(greet Ada)
if [ "$actual" != "$expected" ]; then
    echo "FAIL greet.sh:3: expected '$expected' but got '$actual'"
    exit 1
fi
echo ok
