//! Other servers and clusters behind a proxy, which alone knows the way to them.

use std::io::{BufRead, BufReader, Write, copy};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

use super::command_line;
use crate::commands::Home;
use crate::serve::Served;

const KEY: &str = "k-of-the-test";
/// A name that nobody can look up.
const NAME: &str = "deft.invalid";

/// A proxy that leads everybody to one place, whichever they ask for.
pub(super) struct Proxy {
    pub(super) address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Serves until the process ends.
    pub(super) fn start(place: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::default();
        let noted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let noted = Arc::clone(&noted);
                std::thread::spawn(move || lead(stream, place, &noted));
            }
        });
        Self { address, asked }
    }

    /// The places that tunnels were asked for, since this was last called.
    pub(super) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn lead(mut stream: TcpStream, place: SocketAddr, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    let Some(wanted) = head
        .strip_prefix("CONNECT ")
        .and_then(|head| head.split(' ').next())
    else {
        return stream.write_all(b"HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n"); // doctor only knocks
    };
    asked.lock().unwrap().push(wanted.to_owned());
    let mut far = TcpStream::connect(place)?;
    stream.write_all(b"HTTP/1.1 200 X\r\n\r\n")?;
    let (mut back, mut to) = (far.try_clone()?, stream.try_clone()?);
    let down = std::thread::spawn(move || {
        let _ = copy(&mut back, &mut to);
        to.shutdown(Shutdown::Both)
    });
    let _ = copy(&mut reader, &mut far);
    let _ = far.shutdown(Shutdown::Write);
    let _ = down.join();
    Ok(())
}

/// Takes secure connections for [`NAME`] to a server that has none; gives where, and the certificate to trust.
async fn secured(server: SocketAddr) -> (SocketAddr, String) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.into()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut near = acceptor.accept(stream).await.ok()?;
                let mut far = tokio::net::TcpStream::connect(server).await.ok()?;
                tokio::io::copy_bidirectional(&mut near, &mut far).await.ok()
            });
        }
    });
    (place, authority.pem())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_runs_at_a_server_that_only_a_proxy_can_reach() {
    let (home, other) = (Home::new(), Home::new());
    let files = other.root.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let served = Served::start(&other, &[("SESSION_API_KEY", KEY), ("DEFT_ALLOWED_HOSTS", NAME)]);
    let address = served.address();
    let (place, certificate) = secured(address.strip_prefix("http://").unwrap().parse().unwrap()).await;
    let proxy = Proxy::start(place);
    let trusted = home.root.path().join("ca.pem");
    std::fs::write(&trusted, certificate).unwrap();
    let trusted = trusted.display().to_string();
    let variables = [
        ("DEFT_REMOTE_KEY", KEY),
        ("DEFT_CA_FILE", &trusted),
        ("HTTPS_PROXY", &proxy.address),
    ];
    for way in ["", "&via=commands"] {
        let name = format!("remote:https://{NAME}?dir={}{way}", files.display());
        command_line::a_task_runs(&home, &name, &variables, &files);
        let mut asked = proxy.asked();
        asked.dedup();
        assert_eq!(asked, [format!("{NAME}:443")]);
        let id = command_line::conversation(&home);
        let deleted = home.deft(&["delete", &id]).envs(variables).output().unwrap();
        assert!(deleted.status.success(), "{deleted:?}");
        std::fs::remove_file(files.join("made")).unwrap();
    }
}
