import json

import pytest

from scaling.reporting.page.template import script_json


@pytest.mark.parametrize("text", ["</script>", "<!--", "&amp;", "\u2028", "\u2029", 'a"b\\c', "\x00", "ordinary"])
def test_any_text_can_stand_in_a_script_element_and_is_read_back(text):
    written = script_json({"name": text})
    assert not set(written) & set("<>&\u2028\u2029\x00")
    assert json.loads(written) == {"name": text}


def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json(float("nan"))
