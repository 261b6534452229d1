"""The public modules of the package, whose names the build collects (//python/generate:generate_names)."""

# Names below the package, "" being the package itself, and what each is for.
NAMESPACES = {
    "": """Millstream: build a dataflow graph once, run parts of it many times.

The names are those of graph-mode programs::

    import millstream as tf

    x = tf.placeholder(tf.float32, [None, 2])
    total = tf.reduce_sum(x, axis=1)
    with tf.Session() as sess:
        print(sess.run(total, {x: [[1.0, 2.0]]}))

The examples of the functions assume that line of import and a default session, such as an
``tf.InteractiveSession()``: each can be typed in a shell.
""",
    "app": "Running a program with options.",
    "audio": "Audio as files.",
    "bitwise": "Integers as bits.",
    "cluster": "Clusters: where this process stands in one, and how to start one.",
    "cluster.kubernetes": "Manifests of clusters for Kubernetes and Kubeflow.",
    "cluster.ray": "Clusters on Ray.",
    "cluster.slurm": "Scripts that run clusters under Slurm.",
    "compat": "Names that programs use to run under several versions of Python and of the API.",
    "config": "Options of sessions that have no configuration of their own.",
    "contrib": "What programs know from the contributed part of the API.",
    "contrib.feature_column": "Layers of columns whose examples have steps.",
    "contrib.opt": "Optimizers that are programs outside of the graph.",
    "contrib.tensorboard": "What programs prepare for TensorBoard.",
    "contrib.tensorboard.plugins": "What programs prepare for plugins of TensorBoard.",
    "contrib.tensorboard.plugins.projector": "Rows of tensors as TensorBoard's projector shows them.",
    "contrib.training": "Parameter servers by the load that they have.",
    "debugging": "Checks under their second names, and sessions that stop at the first NaN.",
    "dtypes": "Data types: what an element of a tensor is, and its counterpart in NumPy.",
    "errors": "Typed errors of running and building graphs.",
    "feature_column": "Columns: what models read of examples, and layers that read it.",
    "flags": "Options of the command line, declared by modules and read as attributes of `FLAGS`.",
    "gfile": "Files, by the functions that graph programs use for files of any kind.",
    "graph_util": "Graphs as data: parts of a ``GraphDef``, and graphs whose variables have become constants.",
    "image": "Images: sizes, parts, colors, boxes, measures of quality.",
    "initializers": "What variables start from: objects that make a tensor of a given shape.",
    "layers": "Layers: functions with variables of their own.",
    "layers.experimental": "Layers that share no variables by names.",
    "io": "Files under their second names.",
    "io.gfile": "Files, by the functions with names in lower case.",
    "linalg": "Matrices under their names of linear algebra.",
    "logging": "Messages of programs, through Python's own logging.",
    "lookup": "Tables from keys to values.",
    "lookup.experimental": "Tables that can be changed.",
    "losses": "Losses of training, weighted and reduced to one, and their collections.",
    "manip": "Functions that move elements, under their second names.",
    "math": "Arithmetic under its second names.",
    "metrics": "Metrics that are counted over many steps, in local variables.",
    "nest": "Nested structures of lists, tuples and dictionaries.",
    "nn": "Operations of neural networks.",
    "nn.rnn_cell": "Cells of recurrent networks: what one step computes.",
    "plugins": "Plugins: the shared objects that bring kernels and devices.",
    "protos": "Message classes: ``GraphDef``, ``ConfigProto``, ``Summary``, ...",
    "protos.json_format": "Messages as JSON, by the functions that protobuf's ``json_format`` has.",
    "protos.message": "The base of messages and its errors, as protobuf's ``message`` has them.",
    "protos.text_format": "Messages as text, by the functions that protobuf's ``text_format`` has.",
    "quantization": "Numbers as levels of a range, and training as if they were.",
    "python_io": "Files of records.",
    "queue": "Queues, which pass tensors from step to step.",
    "ragged": "Ragged tensors, whose rows have different lengths.",
    "random": "Random numbers under their second names.",
    "raw_ops": "Each operation as a function, under its own name.",
    "saved_model": "SavedModels: graphs with signatures, the values of their variables, and their files.",
    "saved_model.builder": "Writing models.",
    "saved_model.constants": "Names of files and collections in models.",
    "saved_model.loader": "Reading models.",
    "saved_model.main_op": "What a loaded model runs first.",
    "saved_model.signature_constants": "Names in signatures.",
    "saved_model.signature_def_utils": "Signatures of models.",
    "saved_model.tag_constants": "Tags of graphs in models.",
    "saved_model.utils": "Descriptions of tensors in signatures.",
    "random.experimental": "Generators of random numbers whose state is a variable.",
    "resource_loader": "Files that lie beside a program, or in the package.",
    "sets": "Sets of integers or texts, in the last dimension of tensors.",
    "signal": "Fourier and cosine transforms, frames of signals and their spectra.",
    "sparse": "Tensors of which only some elements or rows are given.",
    "spectral": "Fourier and cosine transforms under their second names.",
    "strings": "Texts made of tensors.",
    "summary": "Summaries of a run, and event files that TensorBoard shows.",
    "sysconfig": "Where the headers and libraries of the package are, for building plugins.",
    "test": "Test cases for graphs, and checks of gradients.",
    "timeline": "A step's trace as a timeline that Chrome's ``chrome://tracing`` and Perfetto show.",
    "train": "Training: optimizers, learning rates, checkpoints, and sessions that go on.",
    "train.experimental": "Losses that are scaled, for gradients of 16 bits.",
    "train.queue_runner": "Threads that fill queues, under their second names.",
    "version": "Versions: of Millstream, and of the graphs that it reads and writes.",
}

# Public modules that are other names of public modules.
ALIASES = {
    "app.flags": "flags",
    "compat.v1": "",
}

def namespace_file(name, ending):
    """The file of a public module below the package's folder.

    Args:
      name: the module's name below the package.
      ending: ".py" or ".pyi".
    """
    if not name:
        return "__init__" + ending
    folder = name.replace(".", "/")
    for other in NAMESPACES:
        if other.startswith(name + "."):
            return folder + "/__init__" + ending
    return folder + ending

def namespace_files(ending):
    """The files of all public modules."""
    return [namespace_file(name, ending) for name in NAMESPACES]
