import email
import hashlib
from email import policy


def task_func(raw_message):
    """
    Summarize an e-mail message and its attachments. The message is parsed with the policy email.policy.default.

    Parameters:
    - raw_message (bytes): The message as it was transmitted.

    Returns:
    - dict: 'subject' (decoded, '' where there is none), 'recipients' (addresses without display names of the To and
      Cc headers, lower-case, sorted, each once), 'text' (content of the plain text body without blanks at its ends,
      '' where there is none) and 'attachments' (list of (file name, number of bytes, SHA-256 hex digest) tuples in
      the order of the message; an attachment without a name is called 'unnamed').

    Raises:
    - TypeError: If the message is not bytes.

    Requirements:
    - email
    - hashlib

    Example:
    >>> task_func(b"Subject: Hi\\nTo: Ann <ann@example.org>\\n\\nHello\\n")
    {'subject': 'Hi', 'recipients': ['ann@example.org'], 'text': 'Hello', 'attachments': []}
    """
    if not isinstance(raw_message, bytes):
        raise TypeError("the message must be bytes")
    message = email.message_from_bytes(raw_message, policy=policy.default)
    recipients = set()
    for name in ("to", "cc"):
        for header in message.get_all(name, []):
            recipients.update(address.addr_spec.lower() for address in header.addresses)
    body = message.get_body(preferencelist=("plain",))
    attachments = []
    for part in message.iter_attachments():
        content = part.get_payload(decode=True)
        attachments.append((part.get_filename("unnamed"), len(content), hashlib.sha256(content).hexdigest()))
    return {
        "subject": str(message.get("subject", "")),
        "recipients": sorted(recipients),
        "text": body.get_content().strip() if body is not None else "",
        "attachments": attachments,
    }


# --- tests ---
import hashlib
import unittest
from email.message import EmailMessage


def message(text=None, attachments=(), **headers):
    result = EmailMessage()
    for name, value in headers.items():
        result[name] = value
    if text is not None:
        result.set_content(text)
    for name, content in attachments:
        result.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return result.as_bytes()


class TestCases(unittest.TestCase):
    def test_plain_message(self):
        self.assertEqual(
            task_func(b"Subject: Hi\nTo: Ann <ann@example.org>\n\nHello\n"),
            {"subject": "Hi", "recipients": ["ann@example.org"], "text": "Hello", "attachments": []},
        )

    def test_attachments(self):
        result = task_func(message("see below", [("a.bin", b"\x00\x01"), ("b.bin", b"")], Subject="files"))
        self.assertEqual(
            result["attachments"],
            [("a.bin", 2, hashlib.sha256(b"\x00\x01").hexdigest()), ("b.bin", 0, hashlib.sha256(b"").hexdigest())],
        )
        self.assertEqual(result["text"], "see below")

    def test_recipients_are_unique(self):
        result = task_func(message("x", To="Bo <BO@example.org>, ann@example.org", Cc="bo@example.org"))
        self.assertEqual(result["recipients"], ["ann@example.org", "bo@example.org"])

    def test_encoded_subject(self):
        self.assertEqual(task_func(b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\n\n")["subject"], "Grüße")

    def test_html_only(self):
        raw = b"Content-Type: text/html\n\n<b>hi</b>\n"
        self.assertEqual(task_func(raw), {"subject": "", "recipients": [], "text": "", "attachments": []})

    def test_unnamed_attachment(self):
        raw = message("x", [(None, b"abc")])
        self.assertEqual(task_func(raw)["attachments"][0][:2], ("unnamed", 3))

    def test_text_is_refused(self):
        with self.assertRaises(TypeError):
            task_func("Subject: Hi")
