"""What every test needs: a server, and proof that the client understood all that it sent."""

import pytest
from desk import Desk


@pytest.fixture(autouse=True)
def every_frame_is_understood(caplog):
    yield
    # The client only logs that it could not read an event.
    assert "ws_event_processing_error" not in caplog.text


@pytest.fixture(scope="module")
def desk():
    desk = Desk()
    yield desk
    desk.stop()
