"""The sources of a plugin, found through what it depends on."""

_SourcesInfo = provider(fields = ["files"])

def _collect_impl(target, ctx):
    own = []
    for attribute in ["srcs", "hdrs"]:
        for label in getattr(ctx.rule.attr, attribute, []):
            # Libraries of the system are no sources of ours.
            own += [file for file in label.files.to_list() if file.is_source and not file.owner.workspace_name]
    return [_SourcesInfo(files = depset(
        own,
        transitive = [dep[_SourcesInfo].files for dep in getattr(ctx.rule.attr, "deps", [])],
    ))]

_collect = aspect(
    implementation = _collect_impl,
    attr_aspects = ["deps"],
)

def _plugin_sources_impl(ctx):
    files = depset(transitive = [plugin[_SourcesInfo].files for plugin in ctx.attr.plugins])
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

plugin_sources = rule(
    implementation = _plugin_sources_impl,
    attrs = {"plugins": attr.label_list(aspects = [_collect])},
    doc = "Every source and header of ours that goes into the plugins, and no other file.",
)
