// Renders a template, and again each time that it asks for something: the engine cannot read, so it says what it wants, and renders anew with that.

import { BlueprintError } from './blueprint-error.ts'
import type { ComponentScope } from './component-scope.ts'
import type { FileContent } from './file-content.ts'
import { contentsOf, MOST_CONTENTS } from './resource-contents.ts'
import type { Rendered, TemplateEngine, TemplateRequest } from './template-engine.ts'
import { type IssuedKubeconfigs, issueWanted } from './wanted-kubeconfigs.ts'

/** @throws as the engine, as `contentOf` of the scope, and as the engine's source of kubeconfigs. */
export async function renderAsking(
  engine: TemplateEngine,
  request: TemplateRequest,
  scope: ComponentScope | undefined,
): Promise<Rendered> {
  const { kubeconfigs: source } = engine
  const template = request.name
  let contents: Readonly<Record<string, FileContent>> = {}
  let known: IssuedKubeconfigs = {}
  while (Object.keys(contents).length <= MOST_CONTENTS) {
    const rendered = await engine.render({
      ...request,
      ...(scope !== undefined && { contents }),
      ...(source !== undefined && { kubeconfigs: known }),
    })
    const { wanted = [], wantedKubeconfigs = [] } = rendered
    if (wanted.length + wantedKubeconfigs.length === 0) return rendered
    if (scope !== undefined) contents = { ...contents, ...(await contentsOf(scope, wanted)) }
    if (source !== undefined) known = await issueWanted(source, { known, wanted: wantedKubeconfigs, template })
  }
  const found = `found more than ${MOST_CONTENTS} resources of which it asks for the content, expected fewer`
  throw new BlueprintError('TemplatingFailed', `template "${template}": ${found}`)
}
