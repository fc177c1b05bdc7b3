import pytest

from scaling.analysis.purposes import PURPOSES, SCOPES, purpose_of

WHILE = "gradient_tape/translator_1/rnn_1_2/while/translator_1/rnn_1_2/while_grad/body/_489"


@pytest.mark.parametrize(
    ("node", "op_type", "purpose"),
    [
        ("functional_1/conv2d_1_2/Relu", "Conv2D", "convolution layers"),
        ("gradient_tape/functional_1/conv2d_12_1/convolution/x", "Conv2DBackpropInput", "convolution layers"),
        ("gradient_tape/deep_speech_1/dense_23_1/Tensordot/MatMul/MatMul_1", "MatMul", "dense layers"),
        (f"{WHILE}/gradients/decoder_1/dense_15_1/MatMul_grad/MatMul", "MatMul", "recurrent layers"),
        ("translator_1/rnn_1_2/while/decoder_1/attention/dense_15_1/BiasAdd", "MatMul", "attention"),
        ("translate/while/stack_1/lstm_cell_5_1/MatMul", "MatMul", "recurrent layers"),
        ("model/conv_lstm2d_3/convolution", "Conv2D", "recurrent layers"),
        ("model/multi_head_attention_1/query/einsum", "Einsum", "attention"),
        ("functional_1/batch_normalization_4_1/moments/Mean", "Mean", "normalisation"),
        ("functional_1/max_pooling2d_1/MaxPool2d", "MaxPool", "pooling"),
        ("translator_1/embedding_1/GatherV2", "GatherV2", "embedding"),
        ("gradient_tape/loss/logistic_loss/mul/Mul", "Mul", "loss"),
        ("loss/dense/MatMul", "MatMul", "loss"),
        ("optimizer/clip_by_global_norm/mul_3", "Mul", "optimizer"),
        ("functional_1/flatten_1/Reshape", "Reshape", "data movement"),
        ("functional_1/activation/Relu", "Relu", "other"),
        ("loss", "Mul", "other"),
    ],
)
def test_the_purpose_of_an_op_is_told_by_its_scopes(node, op_type, purpose):
    assert purpose_of(node, op_type) == purpose


def test_every_purpose_of_a_scope_is_listed():
    assert {purpose for purpose, _ in SCOPES} | {"data movement", "other"} == set(PURPOSES)
