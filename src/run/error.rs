//! Reasons why herder cannot be started.

use crate::chat::embedded_ircd::home::HomeError;
use crate::cluster::folder;
use crate::cluster::log::ServerError;
use crate::cluster::office::OfficeError;
use crate::http::HttpError;
use crate::journal::{CommitError, OpenError, ReadError};
use crate::l10n::UnknownLocale;
use crate::local::BindError;
use crate::runner::process;
use crate::supervisor::RunnersError;
use crate::supervisor::StartError;
use crate::traces::ExportError;

/// Reason why herder could not be started.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The journal cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The embedded server cannot be started.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The supervisors of the agents cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The configured language does not exist.
    #[error(transparent)]
    Locale(#[from] UnknownLocale),
    /// The journal cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The local socket cannot be created.
    #[error(transparent)]
    Socket(#[from] BindError),
    /// The listener of the web page and the API cannot be opened.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// Traces cannot be sent.
    #[error(transparent)]
    Traces(#[from] ExportError),
    /// The process-tree service cannot be started.
    #[error("signals of child processes cannot be listened for: {0}")]
    Trees(std::io::Error),
    /// The program that runs agents cannot be found.
    #[error("the runner cannot be started: {0}")]
    Runner(std::io::Error),
    /// The keys of the servers that lead to other machines cannot be used.
    #[error("the way to other machines ([runners] servers): {0}")]
    Cluster(#[from] folder::OpenError),
    /// The servers that lead to other machines cannot be used.
    #[error("the way to other machines ([runners] servers): {0}")]
    Runners(#[from] RunnersError),
    /// The NATS server beside the bot cannot keep the log.
    #[error("{0}")]
    Server(#[from] ServerError),
    /// The log that the bots share cannot be followed.
    #[error("{0}")]
    Office(#[from] OfficeError),
    /// Agents are to run in this process, and the runner of an earlier configuration has not ended.
    #[error(
        "agents would run twice, because the runner of an earlier configuration does not end; end it (`herder runner \
         status` names its process)"
    )]
    RunnerStays,
    /// Processes of that runner cannot be ended: agents would run beside them.
    #[error("processes that a runner has left cannot be ended: {}", process::list(.0))]
    RunnerLeft(Vec<u32>),
    /// The bot's term of office cannot be recorded.
    #[error("the journal cannot be written: {0}")]
    Commit(#[from] CommitError),
    /// The thread that opens the journal has panicked.
    #[error("opening the journal was cut short: {0}")]
    Join(#[from] tokio::task::JoinError),
}
