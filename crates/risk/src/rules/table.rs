//! The rules on single programs, one a row.

use deft_types::SecurityRisk::{self, High, Medium, Unknown};

use crate::place::Place;
use crate::verdict::Strength::{self, Pattern, Rail};

/// A rule applies to a command when all that it names is there.
pub(super) struct Row {
    pub(super) rule: &'static str,
    pub(super) strength: Strength,
    pub(super) risk: SecurityRisk,
    pub(super) reason: &'static str,
    /// The programs; `mkfs*` is all that begin so.
    pub(super) verbs: &'static [&'static str],
    /// Arguments in this order, with others between; `a|b` is one of both.
    pub(super) words: &'static [&'static str],
    /// Of each group one option.
    pub(super) flags: &'static [&'static [&'static str]],
    /// None of these options.
    pub(super) unless: &'static [&'static str],
    pub(super) target: Target,
}

/// What it is done to.
#[derive(Clone, Copy)]
pub(super) enum Target {
    Any,
    /// At least something.
    Some,
    /// Something that is known only when it runs.
    Open,
    /// A word in which this stands.
    Containing(&'static str),
    /// One of these places.
    In(&'static [Place]),
    /// The same of what is taken away from there: all but the last.
    From(&'static [Place]),
}

const BASE: Row = Row {
    rule: "",
    strength: Pattern,
    risk: High,
    reason: "",
    verbs: &[],
    words: &[],
    flags: &[],
    unless: &[],
    target: Target::Any,
};

const R: &[&str] = &["-r", "-R", "--recursive"];
const F: &[&str] = &["-f", "--force"];
const DRY: &[&str] = &["-n", "--dry-run"];

/// What cannot be lost without losing more than the task is about.
const CATASTROPHIC: Target = Target::In(&[
    Place::Root,
    Place::Home,
    Place::BelowHome,
    Place::System,
    Place::Device,
    Place::Credentials,
]);
const PROTECTED: Target = Target::In(&[
    Place::Root,
    Place::Home,
    Place::System,
    Place::Device,
    Place::Credentials,
    Place::Obeyed,
    Place::Workspace,
]);
const SECRET: Target = Target::In(&[Place::Credentials]);
const DISK: Target = Target::In(&[Place::Device]);

#[rustfmt::skip] // a row is read as a row
pub(super) const TABLE: &[Row] = &[
    // Deleting
    Row { rule: "recursive-delete", verbs: &["rm"], flags: &[R, F], reason: "It deletes whole directories without asking.", ..BASE },
    Row { rule: "recursive-delete", risk: Medium, verbs: &["rm"], flags: &[R], reason: "It deletes whole directories.", ..BASE },
    Row { rule: "catastrophic-delete", strength: Rail, verbs: &["rm"], flags: &[R], target: CATASTROPHIC, reason: "It deletes what lies outside the workspace: a home, the system, or all.", ..BASE },
    Row { rule: "catastrophic-delete", strength: Rail, risk: Unknown, verbs: &["rm"], flags: &[R, F], target: Target::Open, reason: "What it deletes shows only when it runs.", ..BASE },
    Row { rule: "delete-protected", verbs: &["rm", "unlink", "rmdir", "srm", "trash"], target: PROTECTED, reason: "It deletes something that others depend on.", ..BASE },
    Row { rule: "no-preserve-root", strength: Rail, verbs: &["rm", "chmod", "chown", "chgrp"], flags: &[&["--no-preserve-root"]], reason: "It switches off the guard of the root directory.", ..BASE },
    Row { rule: "find-delete", verbs: &["find"], flags: &[&["-delete"]], reason: "It deletes all files that it finds.", ..BASE },
    Row { rule: "find-delete", strength: Rail, verbs: &["find"], flags: &[&["-delete"]], target: CATASTROPHIC, reason: "It deletes files outside the workspace.", ..BASE },
    Row { rule: "find-delete", verbs: &["find", "fd"], words: &["rm|shred|unlink"], flags: &[&["-exec", "-execdir", "-ok", "-okdir", "-x", "-X"]], reason: "It deletes all files that it finds.", ..BASE },
    Row { rule: "sync-delete", verbs: &["rsync"], flags: &[&["--delete", "--delete-after", "--delete-before", "--delete-during", "--delete-excluded", "--remove-source-files"]], unless: DRY, reason: "It deletes files that the source does not have.", ..BASE },
    Row { rule: "sync-delete", verbs: &["rclone"], words: &["purge|delete|sync"], unless: DRY, reason: "It deletes files at a remote place.", ..BASE },
    Row { rule: "erase", verbs: &["shred", "wipe", "scrub"], reason: "It erases data for good.", ..BASE },
    Row { rule: "move-protected", verbs: &["mv"], target: Target::In(&[Place::System, Place::Device, Place::Credentials, Place::Obeyed]), reason: "It moves something that others depend on.", ..BASE },
    Row { rule: "move-protected", verbs: &["mv"], target: Target::From(&[Place::Root, Place::Home]), reason: "It moves a whole home, or all there is.", ..BASE },
    Row { rule: "truncate-protected", verbs: &["truncate"], target: PROTECTED, reason: "It empties something that others depend on.", ..BASE },
    // Disks
    Row { rule: "raw-disk", strength: Rail, verbs: &["mkfs*", "mke2fs", "mkswap", "wipefs", "blkdiscard", "sgdisk", "badblocks"], target: Target::Some, reason: "It makes a disk anew: all on it is lost.", ..BASE },
    Row { rule: "raw-disk", strength: Rail, verbs: &["fdisk", "sfdisk", "gdisk", "parted", "cfdisk"], unless: &["-l", "--list"], target: Target::Some, reason: "It changes how a disk is divided.", ..BASE },
    Row { rule: "raw-disk", strength: Rail, verbs: &["dd"], target: Target::Containing("of=/dev/"), reason: "It writes over a disk.", ..BASE },
    Row { rule: "raw-disk", strength: Rail, verbs: &["shred", "cp", "tee", "cat", "hdparm"], target: DISK, reason: "It works on a disk itself.", ..BASE },
    Row { rule: "raw-disk", verbs: &["cryptsetup", "lvremove", "vgremove", "pvremove"], target: Target::Some, reason: "It changes volumes.", ..BASE },
    // Rights
    Row { rule: "permissions", strength: Rail, verbs: &["chmod", "chown", "chgrp", "setfacl"], flags: &[R], target: CATASTROPHIC, reason: "It changes the rights of a home or of the system.", ..BASE },
    Row { rule: "permissions", verbs: &["chmod", "chown", "chgrp", "setfacl"], target: Target::In(&[Place::Root, Place::Home, Place::System, Place::Credentials]), reason: "It changes rights of the system or of keys.", ..BASE },
    Row { rule: "permissions", risk: Medium, verbs: &["chmod", "chown", "chgrp"], flags: &[R], reason: "It changes the rights of whole directories.", ..BASE },
    Row { rule: "permissions", risk: Medium, verbs: &["chmod"], words: &["777|0777|a+rwx|o+w|a+w"], reason: "It lets everybody write.", ..BASE },
    Row { rule: "set-uid", verbs: &["chmod"], words: &["u+s|+s|g+s|ug+s|4755|4777|6755|2755"], reason: "It makes a program run as its owner.", ..BASE },
    Row { rule: "accounts", verbs: &["useradd", "userdel", "usermod", "adduser", "deluser", "passwd", "chpasswd", "visudo", "groupadd", "groupdel", "setcap"], reason: "It changes who may do what on this machine.", ..BASE },
    Row { rule: "elevated", risk: Medium, verbs: &["sudo", "doas", "su", "pkexec"], reason: "It runs with the rights of somebody else.", ..BASE },
    Row { rule: "elevated-delete", verbs: &["sudo", "doas"], words: &["rm|shred|unlink"], reason: "It deletes with all rights.", ..BASE },
    // Git
    Row { rule: "force-push", verbs: &["git"], words: &["push"], flags: &[&["-f", "--force", "--mirror"]], unless: &["-n", "--dry-run"], reason: "It overwrites what others have pushed.", ..BASE },
    Row { rule: "force-push", risk: Medium, verbs: &["git"], words: &["push"], flags: &[&["--force-with-lease", "--force-if-includes"]], reason: "It overwrites a branch that has not changed meanwhile.", ..BASE },
    Row { rule: "force-push", verbs: &["git"], words: &["push", "+*"], reason: "It overwrites what others have pushed.", ..BASE },
    Row { rule: "delete-remote", verbs: &["git"], words: &["push"], flags: &[&["-d", "--delete", "--prune"]], reason: "It deletes branches or tags for all.", ..BASE },
    Row { rule: "delete-remote", verbs: &["git"], words: &["push", ":*"], reason: "It deletes branches or tags for all.", ..BASE },
    Row { rule: "push", risk: Medium, verbs: &["git", "hg", "jj"], words: &["push"], unless: &["-n", "--dry-run"], reason: "It publishes commits.", ..BASE },
    Row { rule: "discard-changes", risk: Medium, verbs: &["git"], words: &["reset"], flags: &[&["--hard", "--merge"]], reason: "It throws away changes that are not committed.", ..BASE },
    Row { rule: "discard-changes", risk: Medium, verbs: &["git"], words: &["clean"], flags: &[F], unless: DRY, reason: "It deletes files that git does not know.", ..BASE },
    Row { rule: "discard-changes", risk: Medium, verbs: &["git"], words: &["checkout|restore", ".|:/|./"], reason: "It throws away changes that are not committed.", ..BASE },
    Row { rule: "discard-changes", risk: Medium, verbs: &["git"], words: &["checkout|switch"], flags: &[&["-f", "--force", "--discard-changes"]], reason: "It throws away changes that are not committed.", ..BASE },
    Row { rule: "discard-changes", risk: Medium, verbs: &["git"], words: &["stash", "drop|clear"], reason: "It throws away changes that were put aside.", ..BASE },
    Row { rule: "discard-changes", risk: Medium, verbs: &["git"], words: &["branch"], flags: &[&["-D"]], reason: "It deletes a branch that may not be merged.", ..BASE },
    Row { rule: "rewrite-history", verbs: &["git"], words: &["filter-branch|filter-repo|replace"], reason: "It rewrites the history.", ..BASE },
    Row { rule: "rewrite-history", verbs: &["git-filter-repo", "bfg"], reason: "It rewrites the history.", ..BASE },
    Row { rule: "rewrite-history", verbs: &["git"], words: &["reflog", "expire|delete"], reason: "It forgets where commits can be found again.", ..BASE },
    Row { rule: "rewrite-history", verbs: &["git"], words: &["update-ref"], flags: &[&["-d"]], reason: "It deletes a reference.", ..BASE },
    Row { rule: "rewrite-history", risk: Medium, verbs: &["git"], words: &["gc|prune"], flags: &[&["--prune", "--aggressive", "--expire"]], reason: "It removes commits that nothing names.", ..BASE },
    Row { rule: "rewrite-history", risk: Medium, verbs: &["git"], words: &["rebase"], unless: &["--abort", "--continue", "--quit", "--skip"], reason: "It rewrites commits.", ..BASE },
    Row { rule: "rewrite-history", risk: Medium, verbs: &["git"], words: &["commit"], flags: &[&["--amend"]], reason: "It rewrites the last commit.", ..BASE },
    Row { rule: "git-runs-commands", verbs: &["git"], words: &["config"], target: Target::Containing("hooksPath"), reason: "It lets git run other programs.", ..BASE },
    Row { rule: "git-runs-commands", verbs: &["git"], flags: &[&["-c", "--global", "--system", "--config-env"]], target: Target::Containing("=!"), reason: "It lets git run other programs.", ..BASE },
    Row { rule: "git-runs-commands", verbs: &["git"], target: Target::Containing("sshCommand"), reason: "It lets git run other programs.", ..BASE },
    Row { rule: "git-runs-commands", verbs: &["git"], target: Target::Containing("fsmonitor="), reason: "It lets git run other programs.", ..BASE },
    Row { rule: "git-settings", risk: Medium, verbs: &["git"], words: &["config"], flags: &[&["--global", "--system"]], unless: &["--get", "--list", "-l"], reason: "It changes git for all projects.", ..BASE },
    // Processes and the machine
    Row { rule: "kill-all", strength: Rail, verbs: &["kill"], words: &[], flags: &[&["-1"]], reason: "It ends every process of the user.", ..BASE },
    Row { rule: "kill-all", verbs: &["kill"], words: &["1"], reason: "It ends the first process.", ..BASE },
    Row { rule: "kill-by-name", risk: Medium, verbs: &["killall", "pkill", "killall5", "skill"], reason: "It ends processes by name, others' too.", ..BASE },
    Row { rule: "kill-by-name", verbs: &["pkill", "killall"], flags: &[&["-u", "-U", "--user", "--euid"]], reason: "It ends all processes of a user.", ..BASE },
    Row { rule: "kill-by-name", verbs: &["pkill", "killall"], words: &[".|.*|deft|sshd|systemd|init"], reason: "It ends processes that are needed.", ..BASE },
    Row { rule: "shut-down", verbs: &["shutdown", "reboot", "halt", "poweroff", "telinit"], reason: "It stops the machine.", ..BASE },
    Row { rule: "shut-down", verbs: &["init"], words: &["0|6"], reason: "It stops the machine.", ..BASE },
    Row { rule: "shut-down", verbs: &["systemctl"], words: &["poweroff|reboot|halt|suspend|isolate|kexec|emergency|rescue"], reason: "It stops the machine.", ..BASE },
    Row { rule: "services", verbs: &["systemctl", "service", "launchctl", "rc-update", "update-rc.d"], words: &["enable|disable|stop|mask|restart|start|load|unload|bootstrap|add|remove|edit|daemon-reload"], reason: "It changes what runs on this machine.", ..BASE },
    Row { rule: "services", verbs: &["service"], target: Target::Some, reason: "It changes what runs on this machine.", ..BASE },
    Row { rule: "scheduled", verbs: &["crontab"], unless: &["-l"], reason: "It lets commands run later, without anybody there.", ..BASE },
    Row { rule: "scheduled", verbs: &["at", "batch"], unless: &["-l"], reason: "It lets commands run later, without anybody there.", ..BASE },
    Row { rule: "kernel", verbs: &["insmod", "rmmod", "modprobe", "kexec", "sysctl", "swapoff", "setenforce", "mknod", "pivot_root"], unless: &["-a", "-n"], reason: "It changes the kernel.", ..BASE },
    Row { rule: "kernel", risk: Medium, verbs: &["mount"], target: Target::Some, reason: "It mounts a file system.", ..BASE },
    Row { rule: "firewall", verbs: &["iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl"], unless: &["-L", "--list", "-S"], reason: "It changes the firewall.", ..BASE },
    Row { rule: "cover-tracks", verbs: &["history"], flags: &[&["-c", "-d"]], reason: "It removes what was typed from the history.", ..BASE },
    Row { rule: "cover-tracks", risk: Medium, verbs: &["unset"], words: &["HISTFILE"], reason: "It keeps commands out of the history.", ..BASE },
    Row { rule: "archive-runs-commands", verbs: &["tar", "gtar", "bsdtar"], flags: &[&["--to-command", "--checkpoint-action", "--info-script", "--new-volume-script", "--rsh-command"]], reason: "It runs a command for what is in the archive.", ..BASE },
    // Containers
    Row { rule: "container-escape", verbs: &["docker", "podman", "nerdctl"], words: &["run|create|exec"], flags: &[&["--privileged", "--cap-add", "--device", "--security-opt"]], reason: "It starts a container that can reach the whole machine.", ..BASE },
    Row { rule: "container-escape", verbs: &["docker", "podman", "nerdctl"], words: &["run|create"], target: Target::Containing("docker.sock"), reason: "It gives a container the rights over all containers.", ..BASE },
    Row { rule: "container-escape", verbs: &["docker", "podman", "nerdctl"], words: &["run|create", "/:*"], reason: "It gives a container the whole disk.", ..BASE },
    Row { rule: "container-escape", verbs: &["docker", "podman", "nerdctl"], words: &["run|create"], target: Target::Containing("-v/:"), reason: "It gives a container the whole disk.", ..BASE },
    Row { rule: "container-escape", verbs: &["docker", "podman", "nerdctl"], words: &["run|create"], target: Target::Containing("--volume=/:"), reason: "It gives a container the whole disk.", ..BASE },
    Row { rule: "container-escape", verbs: &["docker", "podman", "nerdctl"], words: &["run|create"], target: Target::Containing("source=/,"), reason: "It gives a container the whole disk.", ..BASE },
    Row { rule: "container-escape", verbs: &["docker", "podman", "nerdctl"], words: &["run|create"], target: Target::Containing("src=/,"), reason: "It gives a container the whole disk.", ..BASE },
    Row { rule: "container-escape", verbs: &["docker", "podman", "nerdctl"], words: &["run|create"], flags: &[&["--pid", "--network", "--net", "--ipc", "--userns"]], target: Target::Containing("host"), reason: "It starts a container beside the machine's own processes.", ..BASE },
    Row { rule: "container-delete", verbs: &["docker", "podman"], words: &["system|volume|image|container|builder|network", "prune"], reason: "It deletes containers, images or volumes.", ..BASE },
    Row { rule: "container-delete", risk: Medium, verbs: &["docker", "podman"], words: &["rm|rmi|kill|stop|down"], reason: "It stops or deletes containers or images.", ..BASE },
    Row { rule: "container-delete", verbs: &["docker", "docker-compose", "podman"], words: &["down"], flags: &[&["-v", "--volumes"]], reason: "It deletes volumes.", ..BASE },
    Row { rule: "container-delete", verbs: &["docker", "podman"], words: &["volume", "rm"], reason: "It deletes volumes.", ..BASE },
    // Publishing
    Row { rule: "publish", verbs: &["npm", "yarn", "pnpm", "bun", "cargo", "poetry", "uv", "hatch", "flit", "deno", "gem", "vsce", "dart", "jsr"], words: &["publish|unpublish|yank|push"], unless: &["--dry-run"], reason: "It publishes a package, which cannot be taken back.", ..BASE },
    Row { rule: "publish", verbs: &["twine"], words: &["upload"], reason: "It publishes a package, which cannot be taken back.", ..BASE },
    Row { rule: "publish", verbs: &["docker", "podman", "helm", "crane", "skopeo"], words: &["push|copy"], reason: "It publishes an image.", ..BASE },
    Row { rule: "publish", verbs: &["gh", "glab"], words: &["release|gist", "create|upload|edit"], reason: "It publishes files.", ..BASE },
    Row { rule: "publish", verbs: &["mvn", "gradle", "gradlew"], words: &["deploy|publish|release:perform"], reason: "It publishes a package.", ..BASE },
    Row { rule: "forge", verbs: &["gh", "glab"], words: &["repo|release|secret|issue|run|ssh-key|variable", "delete|archive|set|remove"], reason: "It deletes or changes something at the forge.", ..BASE },
    Row { rule: "forge", verbs: &["gh", "glab"], words: &["pr|mr", "merge"], reason: "It merges for all.", ..BASE },
    Row { rule: "forge", verbs: &["gh", "glab"], words: &["api"], flags: &[&["-X", "--method", "-f", "-F", "--field", "--raw-field", "--input"]], reason: "It changes something at the forge.", ..BASE },
    Row { rule: "forge", verbs: &["gh", "glab"], words: &["auth", "token"], reason: "It shows the token of the forge.", ..BASE },
    // Clouds and databases
    Row { rule: "cloud-delete", verbs: &["aws"], words: &["delete*|terminate*|rb|rm|purge*|remove*|deregister*|destroy*"], unless: &["--dryrun", "--dry-run"], reason: "It deletes something in the cloud.", ..BASE },
    Row { rule: "cloud-delete", verbs: &["gcloud", "az", "doctl", "heroku", "fly", "flyctl", "vercel", "netlify", "oci", "ibmcloud", "linode-cli", "hcloud", "wrangler", "supabase", "eksctl", "gsutil", "s3cmd", "bq"], words: &["delete*|destroy*|rm|rb|remove*|purge*|del|reset"], reason: "It deletes something in the cloud.", ..BASE },
    Row { rule: "cloud-delete", verbs: &["terraform", "tofu", "pulumi", "cdk", "terragrunt"], words: &["destroy|apply|up|deploy"], reason: "It changes or destroys infrastructure.", ..BASE },
    Row { rule: "cloud-delete", verbs: &["kubectl", "oc"], words: &["delete|drain|cordon|replace"], unless: &["--dry-run"], reason: "It deletes or stops something in the cluster.", ..BASE },
    Row { rule: "cloud-change", risk: Medium, verbs: &["kubectl", "oc"], words: &["apply|patch|scale|rollout|edit|exec|create|set"], unless: &["--dry-run"], reason: "It changes the cluster.", ..BASE },
    Row { rule: "cloud-delete", verbs: &["helm"], words: &["uninstall|delete|rollback"], reason: "It deletes something in the cluster.", ..BASE },
    Row { rule: "database-delete", verbs: &["dropdb", "dropuser"], reason: "It deletes a database.", ..BASE },
    Row { rule: "database-delete", verbs: &["mysqladmin"], words: &["drop"], reason: "It deletes a database.", ..BASE },
    Row { rule: "database-delete", verbs: &["redis-cli"], words: &["flushall|flushdb|FLUSHALL|FLUSHDB|shutdown"], reason: "It empties a database.", ..BASE },
    Row { rule: "database-delete", verbs: &["psql", "mysql", "mariadb", "sqlite3"], target: Target::Containing("DROP DATABASE"), reason: "It deletes a database.", ..BASE },
    Row { rule: "database-delete", verbs: &["psql", "mysql", "mariadb", "sqlite3"], target: Target::Containing("drop database"), reason: "It deletes a database.", ..BASE },
    Row { rule: "database-delete", risk: Medium, verbs: &["psql", "mysql", "mariadb", "sqlite3"], target: Target::Containing("DROP "), reason: "It deletes what is in a database.", ..BASE },
    Row { rule: "database-delete", risk: Medium, verbs: &["psql", "mysql", "mariadb", "sqlite3"], target: Target::Containing("drop "), reason: "It deletes what is in a database.", ..BASE },
    Row { rule: "database-delete", risk: Medium, verbs: &["psql", "mysql", "mariadb", "sqlite3"], target: Target::Containing("TRUNCATE "), reason: "It deletes what is in a database.", ..BASE },
    Row { rule: "database-delete", risk: Medium, verbs: &["psql", "mysql", "mariadb", "sqlite3"], target: Target::Containing("truncate "), reason: "It deletes what is in a database.", ..BASE },
    // Keys and the network
    Row { rule: "read-credentials", verbs: &["cat", "less", "more", "head", "tail", "cp", "mv", "scp", "rsync", "tar", "zip", "base64", "xxd", "od", "strings", "grep", "rg", "awk", "sed", "cut", "sort", "tee", "dd", "curl", "wget", "nc", "openssl", "gpg", "vi", "vim", "nano", "tac", "nl", "ln", "7z", "bat", "source", "."], target: SECRET, reason: "It reads keys or passwords.", ..BASE },
    Row { rule: "read-credentials", verbs: &["security"], words: &["find-generic-password|find-internet-password|dump-keychain|export"], reason: "It reads passwords.", ..BASE },
    Row { rule: "read-credentials", verbs: &["gpg", "gpg2"], flags: &[&["--export-secret-keys", "--export-secret-subkeys"]], reason: "It reads private keys.", ..BASE },
    Row { rule: "read-credentials", verbs: &["pass", "op", "vault", "bw"], words: &["show|read|get|item|export"], reason: "It reads passwords.", ..BASE },
    Row { rule: "network", risk: Medium, verbs: &["curl", "wget", "aria2c", "http", "https", "fetch"], target: Target::Some, reason: "It exchanges data with a server.", ..BASE },
    Row { rule: "upload", verbs: &["curl"], flags: &[&["-T", "--upload-file"]], reason: "It sends a file to a server.", ..BASE },
    Row { rule: "upload", verbs: &["curl"], target: Target::Containing("=@"), reason: "It sends a file to a server.", ..BASE },
    Row { rule: "upload", verbs: &["curl"], words: &["@*"], reason: "It sends a file to a server.", ..BASE },
    Row { rule: "upload", verbs: &["curl"], target: Target::Containing("-d@"), reason: "It sends a file to a server.", ..BASE },
    Row { rule: "upload", verbs: &["wget"], flags: &[&["--post-file", "--body-file"]], reason: "It sends a file to a server.", ..BASE },
    Row { rule: "open-port", verbs: &["nc", "ncat", "netcat", "socat"], flags: &[&["-e", "-c", "--exec", "--sh-exec"]], reason: "It gives somebody else a shell.", ..BASE },
    Row { rule: "open-port", verbs: &["socat"], target: Target::Containing("EXEC:"), reason: "It gives somebody else a shell.", ..BASE },
    Row { rule: "open-port", verbs: &["ngrok", "cloudflared", "localtunnel", "lt", "bore", "chisel"], reason: "It opens this machine to the network.", ..BASE },
    Row { rule: "network", risk: Medium, verbs: &["nc", "ncat", "netcat", "socat", "telnet", "ftp", "sftp", "scp", "ssh", "rsync"], target: Target::Some, reason: "It exchanges data with another machine.", ..BASE },
    Row { rule: "network", risk: Medium, verbs: &["dig", "drill", "host", "nslookup", "ping"], target: Target::Open, reason: "It tells another machine what shows only when it runs.", ..BASE },
    // Packages
    Row { rule: "system-packages", risk: Medium, verbs: &["apt", "apt-get", "yum", "dnf", "pacman", "zypper", "apk", "brew", "snap"], words: &["install|remove|purge|upgrade|dist-upgrade|autoremove|uninstall|add|del"], reason: "It changes the programs of this machine.", ..BASE },
    Row { rule: "system-packages", risk: Medium, verbs: &["dpkg", "rpm", "pacman"], flags: &[&["-i", "-r", "-P", "-e", "-U", "-S", "-R"]], reason: "It changes the programs of this machine.", ..BASE },
];
