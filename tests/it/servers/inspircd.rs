//! InspIRCd with Anope's services (`apt-get install inspircd anope`): accounts, SASL, history, every capability
//! herder uses.

use std::path::Path;
use std::process::Command;

use super::{Daemon, free_port};

const MODULES: [&str; 25] = [
    "services_account",
    "sasl",
    "cap",
    "ircv3",
    "ircv3_accounttag",
    "ircv3_batch",
    "ircv3_capnotify",
    "ircv3_chghost",
    "ircv3_ctctags",
    "ircv3_echomessage",
    "ircv3_labeledresponse",
    "ircv3_msgid",
    "ircv3_servertime",
    "namesx",
    "botmode",
    "chghost",
    "hidechans",
    "svshold",
    "topiclock",
    "servprotect",
    "chanhistory",
    "redirect",
    "ssl_gnutls",
    "sslinfo",
    "spanningtree",
];

/// Settings that a test may change.
pub(crate) struct Options {
    /// Thousandths of commands a second after the first ones; Debian's default is 1000.
    pub(crate) rate: u32,
    /// The number of those first commands; further ones wait for the server's next look, once a second. Debian's
    /// default is 10.
    pub(crate) threshold: u32,
    /// Modules that are left out.
    pub(crate) without: &'static [&'static str],
    /// True to start services.
    pub(crate) services: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { rate: 1000, threshold: 10, without: &[], services: false }
    }
}

/// The server's name, and that of the other one of a pair.
const NAME: &str = "irc.test.local";
pub(crate) const OTHER: &str = "irc2.test.local";

/// A server's place in its network.
struct Place {
    name: &'static str,
    id: &'static str,
    /// The port for links of other servers and services.
    link: u16,
    /// The server it may be linked to, and its port for that.
    other: Option<(&'static str, u16)>,
}

pub(crate) struct Inspircd {
    pub(crate) port: u16,
    pub(crate) tls_port: u16,
    pub(crate) daemon: Daemon,
    pub(crate) services: Option<Daemon>,
    /// The server's own certificate, self-signed, as PEM.
    pub(crate) certificate: rcgen::Certificate,
    folder: tempfile::TempDir,
}

impl Inspircd {
    pub(crate) fn start(options: &Options) -> Self {
        Self::start_as(options, &Place { name: NAME, id: "1TS", link: free_port(), other: None })
    }

    /// Starts two servers of one network, not linked yet: an operator of the first does that with `CONNECT`
    /// [`OTHER`].
    pub(crate) fn pair(options: &Options) -> (Self, Self) {
        let (near, far) = (free_port(), free_port());
        let first = Place { name: NAME, id: "1TS", link: near, other: Some((OTHER, far)) };
        let second = Place { name: OTHER, id: "2TS", link: far, other: Some((NAME, near)) };
        (Self::start_as(options, &first), Self::start_as(options, &second))
    }

    fn start_as(options: &Options, place: &Place) -> Self {
        let (port, tls_port, link) = (free_port(), free_port(), place.link);
        let folder = tempfile::tempdir().expect("a folder");
        let made =
            rcgen::generate_simple_self_signed(vec!["irc.test.local".to_owned()]).expect("a certificate");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("cert.pem"), made.cert.pem()).expect("writable");
        std::fs::write(at("key.pem"), made.signing_key.serialize_pem()).expect("writable");
        std::fs::write(at("inspircd.conf"), config(folder.path(), port, tls_port, place, options))
            .expect("writable");
        let daemon = spawn(folder.path(), port);
        let services = options.services.then(|| services(folder.path(), link));
        Self { port, tls_port, daemon, services, certificate: made.cert, folder }
    }

    /// Starts it again on the same ports. Its services connect again by themselves.
    pub(crate) fn restart(&mut self) {
        self.daemon = spawn(self.folder.path(), self.port);
    }

    /// Returns the server's certificate in a file.
    pub(crate) fn certificate_file(&self) -> std::path::PathBuf {
        self.folder.path().join("cert.pem")
    }
}

fn config(folder: &Path, port: u16, tls_port: u16, place: &Place, options: &Options) -> String {
    let folder = folder.display();
    let Place { name, id, link, other } = place;
    let other = other.map_or_else(String::new, |(other, port)| {
        format!(
            r#"<link name="{other}" ipaddr="127.0.0.1" port="{port}" allowmask="*" sendpass="link" recvpass="link">"#
        )
    });
    let rate = options.rate;
    let threshold = options.threshold;
    let modules: String = MODULES
        .iter()
        .filter(|module| !options.without.contains(module))
        .map(|module| format!("<module name=\"{module}\">"))
        .collect();
    format!(
        r#"<server name="{name}" description="test" id="{id}" network="TestNet">
<admin name="a" nick="a" email="a@test.local">
{modules}
<bind address="127.0.0.1" port="{port}" type="clients">
<bind address="127.0.0.1" port="{tls_port}" type="clients" sslprofile="own">
<bind address="127.0.0.1" port="{link}" type="servers">
<sslprofile name="own" provider="gnutls" certfile="{folder}/cert.pem" keyfile="{folder}/key.pem" hash="sha256" requestclientcert="yes">
<connect name="main" allow="*" timeout="20" pingfreq="120" hardsendq="1M" softsendq="8192" recvq="8K" threshold="{threshold}"
 commandrate="{rate}" fakelag="yes" localmax="100" globalmax="100" maxchans="100" resolvehostnames="no" maxconnwarn="no">
<class name="All" commands="SQUIT CONNECT GLINE KLINE" usermodes="*" chanmodes="*"><type name="Net" classes="All"><oper name="root" password="root" host="*@*" type="Net">
<options prefixquit="Quit: " casemapping="ascii">
<performance quietbursts="yes">
<security maxtargets="20">
<limits maxnick="31" maxchan="64" maxident="11" maxhost="64" maxtopic="307" maxgecos="128">
<log method="file" type="* -USERINPUT -USEROUTPUT" level="default" target="{folder}/inspircd.log">
<path configdir="{folder}" datadir="{folder}" logdir="{folder}" runtimedir="{folder}">
<pid file="{folder}/pid">
<chanhistory maxlines="50" prefixmsg="no" bots="yes" enableumode="no">
<link name="services.test.local" ipaddr="127.0.0.1" port="{link}" allowmask="*" sendpass="link" recvpass="link">
{other}
<uline server="services.test.local" silent="yes">
<sasl target="services.test.local" requiressl="no">
"#
    )
}

fn spawn(folder: &Path, port: u16) -> Daemon {
    let log = folder.join("log");
    let mut command = Command::new("/usr/sbin/inspircd");
    if rustix::process::geteuid().is_root() {
        command.arg("--runasroot");
    }
    command.arg("--nofork").arg("--config").arg(folder.join("inspircd.conf"));
    let mut daemon = Daemon::start(&mut command, "apt-get install inspircd", &log);
    daemon.listening(port, &log);
    daemon
}

fn services(folder: &Path, link: u16) -> Daemon {
    for name in ["conf", "db", "logs"] {
        std::fs::create_dir_all(folder.join(name)).expect("writable");
    }
    let pid = folder.join("services.pid");
    let config = format!(
        r#"
uplink {{ host = "127.0.0.1"; ipv6 = no; ssl = no; port = {link}; password = "link" }}
serverinfo {{ name = "services.test.local"; description = "services"; pid = "{}"; motd = "/dev/null" }}
module {{ name = "inspircd3"; use_server_side_mlock = no; use_server_side_topiclock = no }}
networkinfo {{ networkname = "TestNet"; nicklen = 31; userlen = 10; hostlen = 64; chanlen = 64; modelistsize = 100;
  vhost_chars = "abcdefghijklmnopqrstuvwxyz0123456789.-"; allow_undotted_vhosts = no; disallow_start_or_end = ".-" }}
options {{ casemap = "ascii"; passlen = 600; seed = 1234567; strictpasswords = no; badpasslimit = 0; updatetimeout = 2m;
  expiretimeout = 30m; readtimeout = 1s; warningtimeout = 4h; timeoutcheck = 3s; retrywait = 1s; nomlock = yes }}
module {{ name = "enc_sha256" }}
module {{ name = "db_flatfile"; database = "anope.db"; keepbackups = 0 }}
service {{ nick = "NickServ"; user = "services"; host = "services.test.local"; gecos = "nicks" }}
module {{ name = "nickserv"; client = "NickServ"; forceemail = no; confirmemailchanges = no;
  defaults = "ns_secure ns_private"; regdelay = 0; expire = 0; secureadmins = yes; modeonid = yes; killquick = 20s;
  kill = 60s; enforceruser = "enforcer"; enforcerhost = "services.test.local"; releasetimeout = 1m;
  guestnickprefix = "Guest"; passlen = 600 }}
module {{ name = "ns_register"; registration = "none"; resenddelay = 90s }}
command {{ service = "NickServ"; name = "REGISTER"; command = "nickserv/register"; }}
module {{ name = "ns_identify" }}
command {{ service = "NickServ"; name = "IDENTIFY"; command = "nickserv/identify"; }}
module {{ name = "ns_logout" }}
command {{ service = "NickServ"; name = "LOGOUT"; command = "nickserv/logout"; }}
module {{ name = "ns_cert"; max = 5 }}
command {{ service = "NickServ"; name = "CERT"; command = "nickserv/cert"; }}
module {{ name = "m_sasl" }}
"#,
        pid.display()
    );
    std::fs::write(folder.join("conf/services.conf"), config).expect("writable");
    let dir = |flag: &str, name: &str| format!("--{flag}={}", folder.join(name).display());
    let mut command = Command::new("/usr/sbin/anope");
    command
        .arg("--nofork")
        .args([dir("confdir", "conf"), dir("dbdir", "db"), dir("logdir", "logs"), dir("localedir", "db")])
        .arg("--modulesdir=/usr/lib/anope");
    Daemon::start(&mut command, "apt-get install anope", &folder.join("services.log"))
}
