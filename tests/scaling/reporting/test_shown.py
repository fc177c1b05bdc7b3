from scaling.reporting.shown import MOST_ROWS, MOST_SENTENCES, block_html, block_text
from scaling.reporting.words import Block, Table


def test_whatever_rows_say_is_escaped():
    block = Block(sentences=["<script>a</script>"], table=Table(("<b>", ">n"), [("<i>x</i>", "\x1b[1m")]))
    html = block_html(block)
    assert not [part for part in ("<script>", "<b>", "<i>", "\x1b") if part in html]
    assert "\x1b" not in block_text(block)


def test_what_is_long_is_counted():
    table = Table(("n",), [(str(number),) for number in range(MOST_ROWS + 5)])
    block = Block(sentences=[f"sentence {number}" for number in range(MOST_SENTENCES + 3)], table=table)
    for text in (block_text(block), block_html(block)):
        assert "and 3 more" in text
        assert "and 5 more rows" in text
        assert f"sentence {MOST_SENTENCES}" not in text
