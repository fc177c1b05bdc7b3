"""What the Fathom paper (Adolf et al., IISWC 2016) prints: Figure 3, percent of op time, training, 8 threads."""

COLUMNS = (
    *("Add", "Sub", "Mul", "Div", "Pow", "Softmax", "MatMul", "CrossEntropy", "MaxPoolGrad", "Sum"),
    *("Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "RandomNormal", "ApplyAdam", "ApplyRMSProp"),
    *("Transpose", "Tile", "Select", "Pad", "Reshape", "Shape"),
)
ROWS = {
    "seq2seq": (3, 2, 35, 0, 0, 0, 32, 0, 0, 2, 0, 0, 0, 0, 0, 0, 3, 20, 0, 1, 0, 0),
    "memnet": (2, 1, 33, 1, 0, 4, 12, 2, 0, 9, 0, 0, 0, 0, 5, 0, 9, 13, 0, 0, 1, 1),
    "speech": (0, 0, 0, 0, 0, 0, 89, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 3, 0, 0, 0),
    "autoenc": (3, 0, 6, 0, 5, 0, 58, 0, 0, 2, 0, 0, 0, 5, 8, 0, 0, 9, 0, 0, 0, 0),
    "residual": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 33, 34, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "vgg": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 35, 31, 30, 0, 2, 0, 0, 0, 0, 0, 0, 0),
    "alexnet": (0, 0, 0, 0, 0, 0, 7, 0, 3, 0, 31, 26, 31, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "deepq": (0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 33, 27, 20, 0, 0, 7, 0, 0, 0, 0, 0, 0),
}
FIGURE_3 = {name: dict(zip(COLUMNS, row, strict=True)) for name, row in ROWS.items()}
