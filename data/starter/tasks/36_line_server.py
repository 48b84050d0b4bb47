# hard
import socket
import threading


def task_func(messages, reply=str.upper):
    """
    Talk to a line server over TCP. The function opens a server socket on a free port of 127.0.0.1 and serves one
    connection in a thread: every line that arrives is answered with reply(line), until the client closes its side.
    Meanwhile the function itself connects as the client, sends all messages, one line each in UTF-8 and ended by a
    newline, reads the answers, and closes everything; no thread and no socket is left over.

    Parameters:
    - messages (list of str): Messages without line ends; they may be long and many.
    - reply (callable): Function from a message to its answer. Default is str.upper.

    Returns:
    - list of str: The answers in the order of the messages.

    Raises:
    - ValueError: If a message contains a line end; nothing is sent then.

    Requirements:
    - socket
    - threading

    Example:
    >>> task_func(["hello", "you"])
    ['HELLO', 'YOU']
    """
    if any("\n" in message or "\r" in message for message in messages):
        raise ValueError("a message contains a line end")
    answers = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection, connection.makefile("rwb") as stream:
                for line in stream:
                    stream.write(reply(line[:-1].decode()).encode() + b"\n")
                    stream.flush()

        thread = threading.Thread(target=serve)
        thread.start()
        with socket.create_connection(server.getsockname()) as client, client.makefile("rwb") as stream:
            for message in messages:
                stream.write(message.encode() + b"\n")
                stream.flush()
                answers.append(stream.readline()[:-1].decode())
            client.shutdown(socket.SHUT_WR)
        thread.join()
    return answers


# --- tests ---
import threading
import unittest
from unittest.mock import patch


class TestCases(unittest.TestCase):
    def test_upper_case(self):
        self.assertEqual(task_func(["hello", "you"]), ["HELLO", "YOU"])

    def test_other_reply(self):
        self.assertEqual(task_func(["abc", ""], reply=lambda text: text[::-1] + "!"), ["cba!", "!"])

    def test_characters_outside_ascii(self):
        self.assertEqual(task_func(["grüße", "日本"]), ["GRÜSSE", "日本"])

    def test_long_and_many_messages(self):
        messages = ["x" * 300_000] + [str(number) for number in range(200)]
        self.assertEqual(task_func(messages), [message.upper() for message in messages])

    def test_replies_come_from_another_thread(self):
        names = task_func(["a"], reply=lambda _: threading.current_thread().name)
        self.assertNotEqual(names, [threading.current_thread().name])

    def test_no_thread_is_left(self):
        before = threading.active_count()
        self.assertEqual(task_func([]), [])
        self.assertEqual(threading.active_count(), before)

    def test_line_ends_are_refused(self):
        with patch("socket.socket.connect", side_effect=OSError("no connection expected")):
            for message in ("a\nb", "a\r"):
                with self.assertRaises(ValueError):
                    task_func(["fine", message])
