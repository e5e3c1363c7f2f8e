"""A service that is gone, and comes back."""


def test_a_service_that_is_gone_is_said_and_retried(start_lab, open_lab):
    url, process = start_lab()
    lab = open_lab(url=url)
    before = lab.number("norm")
    process.terminate()
    process.wait(20)
    lab.exactly("σ", 1)
    banner = lab.page.locator(".gone")
    banner.wait_for()
    assert "does not answer" in banner.inner_text()
    assert lab.number("norm") == before  # the last answer stays
    lab.button("Retry").click()
    assert banner.is_visible()
    start_lab(port=url.rpartition(":")[2])
    lab.button("Retry").click()
    banner.wait_for(state="detached")
    lab.until(lambda: lab.number("norm") != before)
    assert lab.expected("ERR_CONNECTION_REFUSED") >= 2
