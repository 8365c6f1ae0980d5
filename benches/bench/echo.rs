//! The reference bot: it answers every line, parses and writes with `irc::proto`, and stores nothing.

use std::net::SocketAddr;

use irc::proto::{Command, Message, Prefix, Response};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// Joins `room` and echoes until it is killed.
pub(crate) fn run(server: &str, room: &str) {
    let server: SocketAddr = server.parse().expect("an address");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio");
    runtime.block_on(echo(server, room)).expect("the server stays");
}

async fn echo(server: SocketAddr, room: &str) -> std::io::Result<()> {
    let stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    writer.write_all(b"NICK echo\r\nUSER echo 0 * :echo\r\n").await?;
    let (mut line, mut answers) = (String::new(), String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        answers.extend(line.parse::<Message>().ok().and_then(|message| answer(message, room)));
        // One write for all that came in one read.
        if !answers.is_empty() && !reader.buffer().contains(&b'\n') {
            writer.write_all(answers.as_bytes()).await?;
            answers.clear();
        }
    }
}

fn answer(message: Message, room: &str) -> Option<String> {
    let nick = match message.prefix {
        Some(Prefix::Nickname(nick, ..)) => nick,
        Some(Prefix::ServerName(_)) | None => String::new(),
    };
    let answer = match message.command {
        Command::PING(token, _) => Command::PONG(token, None),
        Command::Response(Response::RPL_WELCOME, _) => Command::JOIN(room.to_owned(), None, None),
        Command::PRIVMSG(to, text) => Command::PRIVMSG(to, format!("{nick}: {text}")),
        _ => return None,
    };
    Some(Message::from(answer).to_string())
}
