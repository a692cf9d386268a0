//! A Kubernetes of the tests' own, one node on loopback, from binaries that `kubernetes.sh build` made on this machine.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A running cluster.
pub(crate) struct Kubernetes {
    run: PathBuf,
    _alone: File,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers/kubernetes.sh")
}

fn run_script(what: &str, arguments: &[String]) -> io::Result<()> {
    let output = Command::new("bash")
        .arg(script())
        .arg(what)
        .args(arguments)
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(
        String::from_utf8_lossy(&output.stderr).into_owned(),
    ))
}

impl Kubernetes {
    /// Starts it with images, each a name and a directory with its root; or tells why this machine cannot.
    pub(crate) fn start(images: &[(&str, &Path)]) -> Result<Self, String> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")));
        let place = cache.ok_or("there is no home")?.join("deft/k8s");
        if !place.join("bin/kubelet").exists() {
            return Err(
                "Kubernetes is not built: `tests/servers/kubernetes.sh build` does it once".to_owned(),
            );
        }
        Self::try_start(&place, images).map_err(|error| format!("Kubernetes does not run: {error}"))
    }

    fn try_start(place: &Path, images: &[(&str, &Path)]) -> io::Result<Self> {
        let run = place.join("run");
        fs::create_dir_all(&run)?;
        let alone = File::create(place.join("lock"))?;
        alone.lock()?; // another run of the tests may be at work
        let cluster = Self { run, _alone: alone };
        run_script("stop", &[])?; // what a run that was killed left behind
        let images = images
            .iter()
            .map(|(name, root)| format!("{name}={}", root.display()));
        run_script("start", &images.collect::<Vec<_>>())?;
        Ok(cluster)
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.run.join("kubeconfig")
    }

    /// Makes something apart from the client that is tested.
    pub(crate) fn create(&self, path: &str, body: &str) -> io::Result<()> {
        match self.ask("POST", path, Some(body))? {
            (201, _) => Ok(()),
            (status, why) => Err(io::Error::other(format!("{path} was refused ({status}): {why}"))),
        }
    }

    /// The status of an answer to a request without a body.
    pub(crate) fn api(&self, method: &str, path: &str) -> u16 {
        self.ask(method, path, None).map_or(0, |(status, _)| status)
    }

    /// A request of the administrator's: the status and the body of the answer.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&str>) -> io::Result<(u16, String)> {
        let token = fs::read_to_string(self.run.join("token"))?;
        self.ask_as(token.trim(), method, path, body)
    }

    /// The same of whoever has a token.
    pub(crate) fn ask_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> io::Result<(u16, String)> {
        let output = Command::new("curl")
            .args(["-s", "-w", "\n%{http_code}", "-X", method])
            .args(["-H", "Content-Type: application/json", "--cacert"])
            .arg(self.run.join("certs/ca.crt"))
            .arg("-H")
            .arg(format!("Authorization: Bearer {token}"))
            .args(body.into_iter().flat_map(|body| ["-d", body]))
            .arg(format!("https://127.0.0.1:16443{path}"))
            .output()?;
        let answer = String::from_utf8_lossy(&output.stdout);
        let (body, status) = answer.rsplit_once('\n').unwrap_or(("", ""));
        let status = status.trim().parse().map_err(io::Error::other)?;
        Ok((status, body.to_owned()))
    }
}

impl Drop for Kubernetes {
    fn drop(&mut self) {
        let _ = run_script("stop", &[]);
    }
}
