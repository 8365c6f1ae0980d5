//! A runner behind a link of 1 Mbit/s, with the intervals of real machines.

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep_until};

use super::super::super::client;
use super::*;

/// Bytes per second: 1 Mbit/s.
const RATE: u32 = 125_000;

/// Length of what is sent: it takes longer than every patience of the two ends.
const LENGTH: usize = 2 * 1024 * 1024;

/// Passes bytes on slowly, and keeps them in order.
async fn throttle(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let mut buffer = [0; 2048];
    let mut free = Instant::now();
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        free = free.max(Instant::now()) + Duration::from_secs(1) * u32::try_from(read).unwrap() / RATE;
        sleep_until(free).await;
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// Starts a slow way to a server; returns its port.
async fn slow_way(to: u16, tasks: &mut JoinSet<()>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tasks.spawn(async move {
        let mut ways = JoinSet::new();
        while let Ok((near, _)) = listener.accept().await {
            let Ok(far) = TcpStream::connect(("127.0.0.1", to)).await else { continue };
            let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
            ways.spawn(throttle(near_in, far_out));
            ways.spawn(throttle(far_in, near_out));
        }
    });
    port
}

/// Sends from the runner to the bot, or back, over a slow link; the connection stays, and the grant as well.
async fn a_long_transfer(is_up: bool) {
    let mut rig = Rig::new().await;
    let slow = slow_way(rig.server.port, &mut rig.tasks).await;
    let bot = uplink(rig.server.port, client::PING).await;
    rig.hub.close().await;
    rig.hub = Hub::start(bot, String::from("b"), 8, rig.key.clone(), Pace::default());
    rig.hub.admit("r");
    rig.line = rig.hub.line("r");
    let uplink = uplink(slow, client::PING).await;
    let mut runner = rig.runner_by(uplink, "m1", Pace::default());
    until_granted(&runner, true).await;
    let (bot, host) = rig.open(&mut runner).await;
    let ((from, to), begun) = (if is_up { (host, bot) } else { (bot, host) }, Instant::now());
    let (mut from, mut to) = (from.into_inner(), to.into_inner());
    let sent: Vec<u8> = (0..LENGTH).map(|n| (n % 251) as u8).collect();
    let writing = async {
        from.write_all(&sent).await.unwrap();
    };
    let reading = async {
        let mut heard = vec![0; LENGTH];
        to.read_exact(&mut heard).await.unwrap();
        assert!(heard == sent);
    };
    let mut grant = runner.station.grant();
    tokio::select! {
        lost = grant.wait_for(|state| !state.granted) => panic!("the grant was lost: {lost:?}"),
        _ = async { tokio::join!(writing, reading) } => {}
    }
    assert!(begun.elapsed() >= Duration::from_secs((LENGTH / RATE as usize) as u64 - 2), "it was not slow");
    assert!(rig.hub.seen("r").unwrap().here);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_transfer_from_a_runner_does_not_end_the_link() {
    a_long_transfer(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_transfer_to_a_runner_does_not_end_the_link() {
    a_long_transfer(false).await;
}
