"""Chroma's fine print: clients that call nobody, collections that stay what they were made as, values that
come back as they went in, and deleted bytes that are gone.

Chroma takes many mistakes in silence. Each function here closes one of those doors; notebook 09 opens them.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import chromadb
from chromadb.api import ClientAPI
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings
from chromadb.errors import InternalError, NotFoundError

from memlab.fields import check_kind, check_number
from memlab.store import StoreError

Metadata = dict[str, Any]
Where = dict[str, Any]
Identity = tuple[str, int]
Revector = Callable[[list[str]], list[list[float]]]

NO_EMBEDDER, NO_VECTOR = ("none", 1), [1.0]
"""For rows that are never searched: Chroma has no table without vectors."""

JSON = "json:"
COPY = ".copy"
START_SECONDS = 60.0
HICCUP = 10.0
"""Seconds that a server may say that an index is not on its disk before we believe it."""
CHROMA = "import sys, chromadb_rust_bindings as chroma; chroma.cli(['chroma', *sys.argv[1:]])"
"""What the command `chroma` runs, without the imports that make it start slowly."""

NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")


def quiet() -> Settings:
    """Settings with which Chroma reports nothing to anybody; fresh ones, since a client writes into its own.

    Example:
    >>> quiet().anonymized_telemetry
    False
    """
    return Settings(anonymized_telemetry=False)


def memory_client() -> ClientAPI:
    """A client whose data live in memory, and are its own.

    All plain `EphemeralClient`s of a process share one database; this one gets a database to itself.

    Raises StoreError when a client with other settings was made before.

    Example:
    >>> one, other = memory_client(), memory_client()
    >>> _ = one.create_collection("memories")
    >>> len(one.list_collections()), len(other.list_collections())
    (1, 0)
    """
    name = f"db-{uuid.uuid4().hex}"
    try:
        chromadb.AdminClient(quiet()).create_database(name)
    except ValueError as error:  # all clients in memory of a process must have the same settings
        raise StoreError(
            f"{error}: make every client in memory with the settings quiet(), then restart the kernel"
        ) from None
    return chromadb.EphemeralClient(quiet(), database=name)


def folder_client(path: str | os.PathLike[str]) -> ClientAPI:
    """A client whose data live in the folder `path`. One process at a time may use a folder."""
    return chromadb.PersistentClient(os.fspath(path), quiet())


def server_client(port: int, host: str = "127.0.0.1") -> ClientAPI:
    """A client of the server that `chroma run --path FOLDER --port PORT` has started.

    A read that meets the server while it writes an index down is asked again, for HICCUP seconds at most.
    """
    client = chromadb.HttpClient(host, port, settings=quiet())
    server: Any = client._server  # type: ignore[attr-defined]  # what all its collections ask
    server._make_request = _asking_again(server._make_request)
    return client


@contextmanager
def local_server(folder: str | os.PathLike[str], port: int = 0) -> Iterator[int]:
    """Run `chroma run` on `folder`, for this machine only; gives its port, and stops it at the end.

    port: 0 takes a free one.

    Raises StoreError when it does not answer within a minute.
    """
    with closing(socket.create_server(("127.0.0.1", port))) as free:
        port = int(free.getsockname()[1])
    command = [sys.executable, "-c", CHROMA, "run", "--path", os.fspath(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        _wait_for(port, server)
        yield port
    finally:
        server.terminate()
        server.wait(30)


def open_collection(client: ClientAPI, name: str, embedder: Identity, space: str = "cosine") -> Collection:
    """The collection `name`, made if it is missing, whose vectors come from `embedder` (name, length).

    No embedding function is ever attached, so nothing is embedded, or downloaded, behind our backs.
    Raises StoreError where Chroma would go on in silence: a collection of another space or embedder.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"name={name!r:.60} names no collection; pass 3 to 512 of a-z A-Z 0-9 . _ -")
    check_kind("client", client, ClientAPI)
    about = {"embedder": embedder[0], "dim": embedder[1]}
    # Only together with a configuration does embedding_function=None mean none, and not Chroma's default.
    measure: Any = {"hnsw": {"space": space}}
    collection = find_collection(client, name) or client.get_or_create_collection(
        name, configuration=measure, metadata=about, embedding_function=None
    )
    noted = collection.metadata or {}
    maker = noted.get("embedder"), noted.get("dim")
    if maker != embedder:
        raise StoreError(
            f"collection {name!r} was built with the embedder {maker[0]} ({maker[1]} numbers), not with "
            f"{embedder[0]} ({embedder[1]}); open it with the first, or put its memories into a new one"
        )
    if (measured := space_of(collection)) != space:
        raise StoreError(f"collection {name!r} measures {measured}, not {space}; use another name")
    return collection


def space_of(collection: Collection) -> str:
    """What a collection measures: "cosine", "l2" or "ip"."""
    return str(collection.configuration_json["hnsw"]["space"])


def find_collection(client: ClientAPI, name: str) -> Collection | None:
    """The collection of this name, if there is one. A rewriting that was cut short is completed first."""
    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        pass  # there is none yet, or it was about to be renamed
    try:
        client.get_collection(name + COPY, embedding_function=None).modify(name=name)
    except NotFoundError:
        return None
    return client.get_collection(name, embedding_function=None)


def complete_rewritings(client: ClientAPI) -> None:
    """Give every collection its name back whose rewriting was cut short before the last step.

    To be called before anything that makes a missing collection anew, and empty, as mem0 does.
    """
    for name in _names(client.list_collections()):
        if name.endswith(COPY):
            find_collection(client, name.removesuffix(COPY))


def from_metadata(metadata: Mapping[str, Any]) -> Metadata:
    """The fields of which notebook 09's `to_metadata` made `metadata`, without those that were None.

    Example:
    >>> from_metadata({"sources": 'json:["m1", "m2"]', "importance": 5, "slot": 'json:"json:x"'})
    {'sources': ['m1', 'm2'], 'importance': 5, 'slot': 'json:x'}
    """
    return {
        name: json.loads(value.removeprefix(JSON))
        if isinstance(value, str) and value.startswith(JSON)
        else value
        for name, value in metadata.items()
    }


def json_text(name: str, value: object) -> str:
    """`value` as JSON text. Raises TypeError or ValueError, naming the field `name`, for what is no JSON, for
    NaN, and for halves of characters.

    Example:
    >>> json_text("sources", ["m1", "m2"])
    '["m1", "m2"]'
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:  # json's own error names no field
        raise type(error)(f"{name}={value!r:.60} is not JSON ({error}); pass plain values") from None
    plain_value(name, text)
    return text


def plain_value(name: str, value: object) -> str | int | float:
    """`value`, which Chroma can hold as it is: text, a number or a bool. Raises TypeError or ValueError,
    naming the field `name`, for anything else, for NaN, and for halves of characters.

    Example:
    >>> plain_value("importance", 5), plain_value("slot", "")
    (5, '')
    """
    if not isinstance(value, str | int | float):
        raise TypeError(f"{name}={value!r:.60} fits no metadata; pass text, a number, a bool, list or dict")
    if isinstance(value, float) and not math.isfinite(value):
        check_number(name, value)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:  # Chroma's own error would name no field
            raise ValueError(
                f"{name}={value!r:.60} holds half of a surrogate pair, which no file can; remove it"
            ) from None
    return value


# Deleted is not gone


def folder_holding(path: str | os.PathLike[str], needle: str | bytes) -> list[str]:
    """Names of the files below the folder `path` in whose bytes `needle` stands, a text or raw bytes.

    An empty list is a proof only for this very spelling. Raises ValueError for an empty needle, and for a
    path that is no folder with files in it: nothing is found there either, and nothing is proved.
    """
    wanted = needle.encode() if isinstance(needle, str) else needle
    files = sorted((file for file in Path(path).rglob("*") if file.is_file()), key=lambda file: file.name)
    if not wanted or not files:
        raise ValueError(
            f"needle={needle!r:.60} in path={os.fspath(path)!r}: pass some text, and a folder with files"
        )
    return [file.name for file in files if wanted in file.read_bytes()]


def purge(client: ClientAPI) -> None:
    """Leave no byte of what was deleted in the client's folder.

    Chroma's delete leaves the text in its log and in free pages, and the vector in the index files: so
    every collection is written anew, the database is compacted, folders of dropped indexes go, and room in
    the index files that was never filled is zeroed. This takes time in proportion to all that is kept.
    Raises StoreError for a client without a folder of its own: stop the server, then
    `purge(folder_client(PATH))` where its folder is.
    """
    settings = client.get_settings()
    if not settings.is_persistent or settings.chroma_server_host:
        raise StoreError(
            "only a folder can be purged: for a server, stop it and call purge(folder_client(its path))"
        )
    complete_rewritings(client)
    for name in sorted(_names(client.list_collections())):
        if not name.endswith(COPY):  # the rewriting of what it is a part of drops it
            rewrite(client, name)
    database = Path(settings.persist_directory, "chroma.sqlite3")
    with closing(sqlite3.connect(database, timeout=60, isolation_level=None)) as db:
        # The full-text index remembers the words of deleted texts until it is merged.
        db.execute("INSERT INTO embedding_fulltext_search (embedding_fulltext_search) VALUES ('optimize')")
        db.execute("VACUUM")
        in_use = {segment for (segment,) in db.execute("SELECT id FROM segments")}
    for folder in database.parent.iterdir():
        if folder.is_dir() and _is_uuid(folder.name):
            if folder.name in in_use:
                _blank_unused(folder)
            else:
                shutil.rmtree(folder)


def rewrite(
    client: ClientAPI, name: str, *, embedder: Identity | None = None, revector: Revector | None = None
) -> None:
    """Put the rows of a collection into a fresh one of the same name, with new vectors if `revector` is
    given (documents -> vectors). Killed at any point, one of the two holds all; the next opening goes on.
    """
    old = client.get_collection(name, embedding_function=None)
    if find_leftover(client, name):
        client.delete_collection(name + COPY)
    about = dict(old.metadata or {})
    if embedder is not None:
        about |= {"embedder": embedder[0], "dim": embedder[1]}
    measure: Any = {"hnsw": {"space": space_of(old)}}
    new = client.create_collection(
        name + COPY, configuration=measure, metadata=about or None, embedding_function=None
    )
    for start in range(0, old.count(), size := client.get_max_batch_size()):
        rows = old.get(limit=size, offset=start, include=["embeddings", "documents", "metadatas"])
        vectors = revector(rows["documents"] or []) if revector else rows["embeddings"]
        new.add(rows["ids"], vectors, rows["metadatas"], rows["documents"])  # type: ignore[arg-type]
        new.query(vectors[:1], n_results=1, include=[])  # type: ignore[index, arg-type]  # makes the files
    client.delete_collection(name)
    new.modify(name=name)


def find_leftover(client: ClientAPI, name: str) -> bool:
    """True if a rewriting of `name` was cut short before it was complete."""
    return name + COPY in _names(client.list_collections())


def _asking_again(ask: Callable[..., Any]) -> Callable[..., Any]:
    """`ask`, which sends a request, and sends it again where a read fails on a server that is writing.

    The server looks for an index in the moment between its being planned and its being there, and calls that
    an internal error (chroma-core/chroma #4212). Only reads are repeated: to ask twice changes nothing.
    """

    def asked(method: str, path: str, **body: Any) -> Any:
        deadline = time.monotonic() + HICCUP
        while True:
            try:
                return ask(method, path, **body)
            except InternalError as error:
                passing = path.endswith(("/get", "/query", "/count")) and "Nothing found on disk" in str(
                    error
                )
                if not passing or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    return asked


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise StoreError(f"chroma run did not answer on port {port} (exit code {server.poll()}); run it by hand")


def _names(collections: Iterable[Collection]) -> set[str]:
    return {collection.name for collection in collections}


def _blank_unused(index: Path) -> None:
    """The index library saves memory that it never filled: what is in there may be anybody's words."""
    used, size = struct.unpack_from("<QQ", (index / "header.bin").read_bytes(), 20)
    for name, width in (("data_level0.bin", size), ("length.bin", 4)):
        with (index / name).open("r+b") as file:
            room = file.seek(0, os.SEEK_END) - used * width
            file.seek(used * width)
            file.write(bytes(max(0, room)))


def _is_uuid(name: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", name) is not None
