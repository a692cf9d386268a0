# Runs $NAME until it listens on $PORT of any address, and fails if it never does. Needs no program that asks for a page.
row=$(printf ':%04X [0-9A-F]*:0000 0A ' "$PORT")
listens() { grep -qs "$row" /proc/net/tcp /proc/net/tcp6; }
if listens; then
    echo "something else listens on port $PORT" >&2
    exit 1
fi
log=$NAME.log
"$NAME" > "$log" 2>&1 &
served=$!
left=120
until listens; do
    left=$((left - 1))
    if [ $left -eq 0 ] || ! kill -0 $served 2> /dev/null; then
        cat "$log" >&2
        echo "$NAME does not listen on port $PORT" >&2
        exit 1
    fi
    sleep 0.5
done
kill $served
wait $served || true
rm "$log"
