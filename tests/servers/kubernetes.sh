#!/bin/bash
# A Kubernetes of the tests' own: one node on loopback. Root only.
#   kubernetes.sh build     once a machine, about 12 minutes of processor time: from Debian's source package 1.20,
#                           in which every dependency is vendored
#   kubernetes.sh start     about 10 s; takes images as NAME=DIRECTORY-WITH-THE-ROOT
#   kubernetes.sh stop      and leaves nothing behind
set -eu
W=${DEFT_K8S:-${XDG_CACHE_HOME:-$HOME/.cache}/deft/k8s}
R=${DEFT_K8S_RUN:-$W/run}
NODE_IP=10.88.0.1
API=https://127.0.0.1:16443

build() {
    [ -x "$W/bin/kubelet" ] && [ -x "$W/bin/kube-apiserver" ] && return
    mkdir -p "$W"/{deb,root,bin,cache,lists/partial} && cd "$W/deb"
    local packages=(golang-1.19-go golang-1.19-src etcd-server containernetworking-plugins
        golang-github-modern-go-reflect2-dev)
    apt-get download -q "${packages[@]}" || { apt-get update -q && apt-get download -q "${packages[@]}"; }
    for package in *.deb; do dpkg -x "$package" ../root; done
    cd "$W"
    local mirror
    mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
    mirror=${mirror:-http://deb.debian.org/debian}
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main" >src.list
    local apt=(-q -o "Dir::Etc::sourcelist=$W/src.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$W/lists"
        -o APT::Get::List-Cleanup=0)
    apt-get update "${apt[@]}"
    apt-get source -d "${apt[@]}" kubernetes
    local tree=$W/gp/src/k8s.io/kubernetes
    mkdir -p "$tree" && tar xzf kubernetes_1.20*.orig.tar.gz -C "$tree" --strip-components=1
    # The vendored reflect2 1.0.1 reads maps wrongly under Go 1.18 and later.
    local reflect2=$tree/vendor/github.com/modern-go/reflect2
    rm -f "$reflect2"/* && cp root/usr/share/gocode/src/github.com/modern-go/reflect2/* "$reflect2/"
    export GOROOT=$W/root/usr/lib/go-1.19 PATH=$W/root/usr/lib/go-1.19/bin:$PATH GOCACHE=$W/cache GOPATH=$W/gp \
        GO111MODULE=off GOPROXY=off CGO_ENABLED=0 HOME=$W GOFLAGS=
    cd "$tree"
    # The one generated file that the source package lacks.
    go build -o "$W/bin/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
    local places
    places=$(find pkg cmd plugin $(ls -d vendor/k8s.io/*/ | grep -v -e code-generator -e sample-apiserver) -name '*.go' \
        ! -name '*_test.go' ! -name 'zz_generated*' -print0 | xargs -0 grep -l '^ *// *+k8s:openapi-gen=' |
        xargs -n1 dirname | LC_ALL=C sort -u | sed 's#^#k8s.io/kubernetes/#' | paste -sd,)
    "$W/bin/openapi-gen" --v 0 --logtostderr -h hack/boilerplate/boilerplate.generatego.txt -O zz_generated.openapi \
        -p k8s.io/kubernetes/pkg/generated/openapi -i "$places" -r "$W/violations.txt"
    local version="" place
    for place in component-base/version client-go/pkg/version; do
        place=k8s.io/kubernetes/vendor/k8s.io/$place
        version="$version -X $place.gitVersion=v1.20.2 -X $place.gitMajor=1 -X $place.gitMinor=20 -X $place.gitTreeState=clean"
    done
    go build -trimpath -ldflags "-s -w $version" -o "$W/bin/" ./cmd/kube-apiserver ./cmd/kube-controller-manager \
        ./cmd/kube-scheduler ./cmd/kubelet
    rm -rf "$W"/{cache,gp,deb,lists,kubernetes_*} # only what was built is kept
}

background() {
    local name=$1
    shift
    setsid "$@" >"$R/log/$name" 2>&1 </dev/null &
    echo $! >"$R/pid/$name"
}

until_true() { # SECONDS COMMAND…
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || { echo "not in time: $*" >&2; tail -n 3 "$R"/log/* >&2; exit 1; }
        sleep 0.2
    done
}

ctr_() { ctr -a "$R/containerd/socket" -n k8s.io "$@"; }

# An image with one layer, as `docker save` would write it.
import_image() { # NAME DIRECTORY [PROGRAM]
    local place
    place=$(mktemp -d)
    tar -C "$2" -cf "$place/layer.tar" .
    local sum
    sum=$(sha256sum "$place/layer.tar" | cut -d ' ' -f 1)
    local arch=amd64
    [ "$(uname -m)" = x86_64 ] || arch=arm64
    echo "{\"architecture\":\"$arch\",\"os\":\"linux\",\"config\":{\"Env\":[\"PATH=/bin\"]${3:+,\"Entrypoint\":[\"$3\"]}},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:$sum\"]}}" \
        >"$place/config.json"
    echo "[{\"Config\":\"config.json\",\"RepoTags\":[\"$1\"],\"Layers\":[\"layer.tar\"]}]" >"$place/manifest.json"
    tar -C "$place" -cf - manifest.json config.json layer.tar | ctr_ images import - >/dev/null
    rm -rf "$place"
}

certificates() {
    [ -f certs/apiserver.crt ] && return
    openssl genrsa -out sa.key 2048 && openssl rsa -in sa.key -pubout -out sa.pub
    cd certs
    local curve=(-pkeyopt ec_paramgen_curve:P-256 -nodes)
    openssl req -x509 -newkey ec "${curve[@]}" -days 365 -keyout ca.key -out ca.crt -subj /CN=deft-test \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
    openssl req -newkey ec "${curve[@]}" -keyout apiserver.key -out request -subj /CN=kube-apiserver
    printf 'basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\nsubjectAltName=IP:127.0.0.1,IP:%s' $NODE_IP >extensions
    openssl x509 -req -in request -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -extfile extensions -out apiserver.crt
    cd ..
}

start() {
    mkdir -p "$R"/{etcd,certs,log,containerd,cni,kubelet,pid} && cd "$R"
    # The node needs an address that is not loopback.
    ip link show deft-cni >/dev/null 2>&1 || {
        ip link add deft-cni type bridge && ip addr add $NODE_IP/24 dev deft-cni && ip link set deft-cni up
    }
    certificates >/dev/null 2>&1
    [ -f token ] || openssl rand -hex 16 >token
    echo "$(cat token),admin,admin,\"system:masters\"" >tokens
    cat >kubeconfig <<Y
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "$API", certificate-authority: "$R/certs/ca.crt"}}]
users: [{name: u, user: {token: "$(cat token)"}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
Y
    background etcd "$W/root/usr/bin/etcd" --data-dir "$R/etcd" --listen-client-urls http://127.0.0.1:12379 \
        --advertise-client-urls http://127.0.0.1:12379 --listen-peer-urls http://127.0.0.1:12380 \
        --initial-advertise-peer-urls http://127.0.0.1:12380 --initial-cluster default=http://127.0.0.1:12380
    background apiserver "$W/bin/kube-apiserver" --etcd-servers=http://127.0.0.1:12379 --bind-address=127.0.0.1 \
        --secure-port=16443 --insecure-port=0 --tls-cert-file=certs/apiserver.crt \
        --tls-private-key-file=certs/apiserver.key --cert-dir="$R/certs" --token-auth-file=tokens \
        --authorization-mode=Node,RBAC --advertise-address=$NODE_IP --service-account-key-file=sa.pub \
        --service-account-signing-key-file=sa.key --service-account-issuer=https://kubernetes.default.svc \
        --service-cluster-ip-range=10.250.0.0/24 --kubelet-preferred-address-types=InternalIP
    cat >containerd.toml <<Y
version = 2
root = "$R/containerd/root"
state = "$R/containerd/state"
[grpc]
  address = "$R/containerd/socket"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:3.2"
  stream_server_address = "127.0.0.1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$W/root/usr/lib/cni"
    conf_dir = "$R/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
Y
    cat >cni/10-b.conflist <<Y
{"cniVersion":"0.4.0","name":"b","plugins":[{"type":"bridge","bridge":"deft-cni","isGateway":true,"ipMasq":false,
"ipam":{"type":"host-local","ranges":[[{"subnet":"10.88.0.0/24","gateway":"$NODE_IP"}]],
"routes":[{"dst":"0.0.0.0/0"}],"dataDir":"$R/cni-ipam"}},{"type":"loopback"}]}
Y
    background containerd containerd -c containerd.toml
    until_true 60 ctr_ version
    if ! ctr_ images ls -q | grep -q localhost/pause; then
        mkdir -p pause
        printf '#include <unistd.h>\nint main(){for(;;)pause();}' >pause.c
        gcc -static -Os -o pause/pause pause.c
        import_image localhost/pause:3.2 pause /pause
    fi
    local image
    for image in "$@"; do
        # What has our program in it is never the same.
        [ ! -e "${image#*=}/deft" ] && ctr_ images ls -q | grep -q "^${image%%=*}$" ||
            import_image "${image%%=*}" "${image#*=}"
    done
    until_true 90 curl -skf $API/readyz
    background controllers "$W/bin/kube-controller-manager" --kubeconfig=kubeconfig \
        --service-account-private-key-file=sa.key --root-ca-file=certs/ca.crt --use-service-account-credentials=true \
        --leader-elect=false --bind-address=127.0.0.1 --port=0
    background scheduler "$W/bin/kube-scheduler" --kubeconfig=kubeconfig --leader-elect=false \
        --bind-address=127.0.0.1 --port=0
    cat >kubelet.yaml <<Y
kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
address: $NODE_IP
healthzBindAddress: 127.0.0.1
readOnlyPort: 0
failSwapOn: false
cgroupDriver: cgroupfs
resolvConf: ""
serverTLSBootstrap: false
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
imageGCHighThresholdPercent: 100 # images that were imported cannot be pulled again
evictionHard: {memory.available: "50Mi", nodefs.available: "1%", imagefs.available: "1%"}
Y
    background kubelet "$W/bin/kubelet" --config=kubelet.yaml --kubeconfig=kubeconfig --container-runtime=remote \
        --container-runtime-endpoint="unix://$R/containerd/socket" --hostname-override=node1 --node-ip=$NODE_IP \
        --root-dir="$R/kubelet" --cert-dir="$R/kubelet/pki"
    local admin=(-sf --cacert certs/ca.crt -H "Authorization: Bearer $(cat token)")
    is_ready() {
        curl "${admin[@]}" $API/api/v1/nodes/node1 | tr -d ' \n' | grep -q '"type":"Ready","status":"True"'
    }
    until_true 90 is_ready
    until_true 60 curl "${admin[@]}" $API/api/v1/namespaces/default/serviceaccounts/default
}

stop() {
    local name task
    for name in kubelet controllers scheduler apiserver etcd; do
        [ -f "$R/pid/$name" ] && kill "$(cat "$R/pid/$name")" 2>/dev/null || true
    done
    for task in $(ctr_ tasks ls -q 2>/dev/null); do ctr_ tasks kill -s KILL "$task" 2>/dev/null || true; done
    sleep 1
    [ -f "$R/pid/containerd" ] && kill "$(cat "$R/pid/containerd")" 2>/dev/null || true
    rm -f "$R"/pid/*
    grep " $R/" /proc/mounts | awk '{print $2}' | sort -r | xargs -r -n1 umount -l
    ip link del deft-cni 2>/dev/null || true
    rm -rf "$R/etcd" "$R/kubelet" "$R/cni-ipam"
}

"$@"
