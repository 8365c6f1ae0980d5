//! A TCP stream whose received data the kernel acknowledges at once.
//!
//! herder answers a line and asks for proof; no line of herder's follows that could carry the acknowledgement of the
//! server's reply. Linux then delays the acknowledgement by 40 ms, and a server that waits for it before the next
//! line (Nagle's algorithm: ngircd, InspIRCd) makes a person wait as long.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A [`TcpStream`] that sends data and acknowledgements without delay. See the module.
#[derive(Debug)]
pub(super) struct PromptStream(TcpStream);

impl PromptStream {
    /// Wraps a stream and disables both delays: `TCP_NODELAY` for written data, `TCP_QUICKACK` for received data.
    ///
    /// # Errors
    /// The socket is closed.
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
        // The kernel resets the option, so that it is set again after each read. Without it the socket is only slower.
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
