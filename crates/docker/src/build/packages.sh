# Installs packages by whatever manager this image has. Each manager is followed by its names for them.
set -eu
wanted() {
    manager=$1
    shift
    # Skips to the list of this manager, and prints what stands before the next one.
    seen=
    for word in "$@"; do
        case $word in
            --"$manager" | --any) seen=yes ;;
            --*) seen= ;;
            *) if [ -n "$seen" ]; then printf '%s ' "$word"; fi ;;
        esac
    done
}
has() {
    command -v "$1" > /dev/null
}
if has apt-get; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update
    apt-get install -y --no-install-recommends $(wanted apt "$@")
    rm -rf /var/lib/apt/lists/*
elif has apk; then
    apk add --no-cache $(wanted apk "$@")
elif has dnf; then
    dnf install -y $(wanted dnf "$@")
    dnf clean all
elif has microdnf; then
    microdnf install -y $(wanted dnf "$@")
    microdnf clean all
else
    echo "packages can be installed only where the image has apt-get, apk, dnf or microdnf" >&2
    exit 1
fi
