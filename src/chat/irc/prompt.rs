//! A TCP stream whose kernel acknowledges at once what was read from it.
//!
//! herder answers a line and asks for proof; the server's word on that is never followed by anything of herder's that could
//! carry the acknowledgement. Linux then holds it back for 40 ms, and a server that does not send the next line before it
//! has come (Nagle's algorithm: ngircd, InspIRCd) makes a person wait for that long.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// See the module's text.
#[derive(Debug)]
pub(super) struct PromptStream(TcpStream);

impl PromptStream {
    /// Neither side's small segments wait from here on: `TCP_NODELAY` for what is written, `TCP_QUICKACK` for what is read.
    ///
    /// # Errors
    /// The socket is gone.
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }
}

impl AsyncRead for PromptStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.0).poll_read(context, buffer))?;
        // The kernel forgets it again. A socket that cannot have it is slower, and nothing else.
        let _ = rustix::net::sockopt::set_tcp_quickack(&self.0, true);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PromptStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
