"""Real proxies on loopback before a server: nginx with a configuration as a test gives it, Apache and Caddy as
docs/deploy.md has them; and a server that swallows."""

import base64
import hashlib
import re
import shutil
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.journeys.talking import free_port

_PLACES = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"
NGINX, APACHE, CADDY = (shutil.which(name, path=_PLACES) for name in ("nginx", "apache2", "caddy"))
PAGE = (Path(__file__).parents[1] / "docs" / "deploy.md").read_text(encoding="utf-8")
WHOLE = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {more}
    server {{
        listen 127.0.0.1:{port};
        {body}
    }}
}}
"""
PLAIN = "location / {{ proxy_pass http://127.0.0.1:{port}; }}"
"""Nothing but what a proxy needs: no Host, no websocket."""
MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def documented() -> str:
    """The server of docs/deploy.md, without its TLS and its address."""
    found = re.search(r"^ {4}server \{\n(.*?)^ {4}\}$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return re.sub(r"^ *(listen|server_name|ssl_\w+) .*\n", "", found[1], flags=re.MULTILINE)


@contextmanager
def nginx(folder: Path, body: str, more: str = "") -> Iterator[int]:
    """Run nginx with `body` as its server; gives its port."""
    assert NGINX
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "nginx.conf"
    config.write_text(WHOLE.format(folder=folder, port=port, body=body, more=more), encoding="utf-8")
    with _running([NGINX, "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(config)], port):
        yield port


@contextmanager
def apache(folder: Path, to: int) -> Iterator[int]:
    """Run Apache with the host of docs/deploy.md, without its TLS, before the server at port `to`; gives its port."""
    assert APACHE
    port, config = free_port(), folder / "apache.conf"
    found = re.search(r"^ {4}<VirtualHost \*:443>\n(.*?)^ {4}</VirtualHost>$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    host = re.sub(r"^ *(SSL\w+|ServerName) .*\n", "", found[1], flags=re.MULTILINE).replace(":8000/", f":{to}/")
    modules = ("mpm_event", "authz_core", "headers", "proxy", "proxy_http", "proxy_wstunnel")
    loaded = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in modules)
    head = (
        f"ServerRoot {folder}\nPidFile {folder}/pid\nErrorLog {folder}/error.log\nListen 127.0.0.1:{port}\nServerName x"
    )
    config.write_text(f"{head}\n{loaded}\n<VirtualHost *:{port}>\n{host}</VirtualHost>\n", encoding="utf-8")
    with _running([APACHE, "-X", "-f", str(config)], port):
        yield port


@contextmanager
def caddy(folder: Path, to: int) -> Iterator[int]:
    """Run Caddy with the lines of docs/deploy.md, without TLS, before the server at port `to`; gives its port."""
    assert CADDY
    port, config = free_port(), folder / "Caddyfile"
    found = re.search(r"^ {4}chat\.example\.org \{\n.*?^ {4}\}$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    site = found[0].replace("chat.example.org", f"http://localhost:{port}").replace(":8000", f":{to}")
    config.write_text("{\n admin off\n}\n" + site + "\n", encoding="utf-8")
    with _running([CADDY, "run", "--adapter", "caddyfile", "--config", str(config)], port):
        yield port


@contextmanager
def _running(command: Sequence[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.communicate(timeout=20)


class _Swallowing(socketserver.BaseRequestHandler):
    """Accepts a websocket in good order, and then says nothing to whatever comes."""

    def handle(self) -> None:
        asked = b""
        while b"\r\n\r\n" not in asked and (piece := self.request.recv(4096)):
            asked += piece
        key = re.search(rb"(?i)sec-websocket-key: *(\S+)", asked)
        digest = hashlib.sha1((key[1].decode() if key else "").encode() + MAGIC.encode(), usedforsecurity=False)
        accept = base64.b64encode(digest.digest()).decode()
        head = ("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade")
        self.request.sendall("\r\n".join((*head, f"Sec-WebSocket-Accept: {accept}", "", "")).encode())
        self.server.swallowed.append(asked)  # type: ignore[attr-defined]
        with suppress(OSError):
            while self.request.recv(4096):
                pass


@contextmanager
def swallowing() -> Iterator[tuple[int, list[bytes]]]:
    """A server that swallows websockets; gives its port, and the handshakes that came."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Swallowing) as server:
        server.daemon_threads = True
        server.swallowed = swallowed = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1], swallowed
        finally:
            server.shutdown()
