import pytest

from tests.habits import documents, habits_of, in_documents, in_sources

EXAMPLES = {
    "begins with What": ("What a run did is in its row.", "What limits a network?"),
    "where for if": ("A point has no interval where it has one launch.", "The command continues where it stopped."),
    "told or tell": ("No law can be told of three series.", "The telltale sign is steal."),
    "so many or as many": ("A step on so many cores takes a second.", "It makes as many as fit."),
    "those of or that of": ("The memory is that of its largest process.", "The memory of its largest process counts."),
    "predicate none": ("The file has none of the steps.", "None of the points is disturbed."),
    "fronted of": ("Of a program the launch is the turn.", "The launch of a program is its turn."),
    "is no": ("A line is no curve.", "A point is no longer disturbed, and there is no interval."),
}


@pytest.mark.parametrize("habit", EXAMPLES)
def test_a_habit_is_found_and_its_plain_form_is_not(habit):
    hard, plain = EXAMPLES[habit]
    assert habit in habits_of(hard)
    assert habits_of(plain) == []


def test_code_and_links_of_a_page_are_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "A `told` word.\n\n```\nWhat is printed where it fails\n```\n\n[text](that of)\n\n| so many | cells |\n"
    )
    assert [(one.line, one.habit) for one in in_documents([page])] == [(9, "so many or as many")]


def test_docstrings_and_messages_of_a_folder_are_checked_once_it_is_listed(tmp_path):
    (tmp_path / "module.py").write_text(
        'def f():\n    """What is told."""\n    raise ValueError("there are as many")\n'
    )
    assert [one.line for one in in_sources([str(tmp_path)])] == [2, 2, 3]


def test_no_page_has_such_a_habit():
    assert [(str(one.path), one.line, one.habit) for one in in_documents(documents())] == []
