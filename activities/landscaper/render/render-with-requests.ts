import { BlueprintError } from './render-errors.ts'
import type { ComponentScope } from './blueprint/component-scope.ts'
import { type FileContent, toFileContent } from './file-content.ts'
import type { Rendered, TemplateEngine, TemplateRequest, ContentRequest } from './engine/template-engine.ts'
import type {
  IssuedKubeconfig,
  IssuedKubeconfigs,
  KubeconfigRequest,
  KubeconfigSource,
} from './engine/kubeconfig-requests.ts'
import { titleOfComponent } from './blueprint/component-descriptor.ts'

/**
 * Renders a template, and renders it again with each resource or kubeconfig that it requests: the engine itself cannot read anything.
 *
 * @throws the errors of the engine, of `readContent` of the scope, and of the engine's source of kubeconfigs.
 */
export async function renderWithRequests(
  engine: TemplateEngine,
  request: TemplateRequest,
  scope: ComponentScope | undefined,
): Promise<Rendered> {
  const { kubeconfigs: source } = engine
  const template = request.name
  let contents: Readonly<Record<string, FileContent>> = {}
  let known: IssuedKubeconfigs = {}
  while (Object.keys(contents).length <= MAX_CONTENTS) {
    const rendered = await engine.render({
      ...request,
      ...(scope !== undefined && { contents }),
      ...(source !== undefined && { kubeconfigs: known }),
    })
    const { requestedContents = [], requestedKubeconfigs = [] } = rendered
    if (requestedContents.length + requestedKubeconfigs.length === 0) return rendered
    if (scope !== undefined) contents = { ...contents, ...(await readContents(scope, requestedContents)) }
    if (source !== undefined) known = await issueRequested(source, { known, requested: requestedKubeconfigs, template })
  }
  const found = `found more than ${MAX_CONTENTS} requests for contents of resources; expected fewer`
  throw new BlueprintError('TemplatingFailed', `template "${template}": ${found}`)
}

/** Limit for one template. Each rendering requests at least one more. Source: spec/landscaper.md 3.7 `getResourceContent`. */
const MAX_CONTENTS = 50
const OCTETS = 'application/octet-stream'

/** The contents by the engine's keys. @throws the errors of `readContent` of the scope; BlueprintError */
async function readContents(
  scope: ComponentScope,
  requests: readonly ContentRequest[],
): Promise<Record<string, FileContent>> {
  const contents: Record<string, FileContent> = {}
  for (const request of requests) contents[keyOf(request)] = await readContent(scope, request)
  return contents
}

/** The same key as in deploy/templates/components.go. */
function keyOf({ component, version, index }: ContentRequest): string {
  return `${component}:${version}#${index}`
}

async function readContent(
  scope: ComponentScope,
  { component: name, version, index }: ContentRequest,
): Promise<FileContent> {
  const title = titleOfComponent({ name, version })
  const component = scope.all.find((one) => titleOfComponent(one) === title)
  const resource = component?.resources[index]
  // A template may pass an invented descriptor to the function.
  if (component === undefined || resource === undefined)
    throw new BlueprintError('ComponentNotFound', `getResourceContent: no resource ${index} of component "${title}"`)
  const content = await scope.readContent({ component, resource })
  if ('bytes' in content)
    return content.mediaType === OCTETS ? content.bytes.toString('base64') : toFileContent(content.bytes)
  const what = `getResourceContent: resource "${resource.name}" of component "${title}"`
  throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', `${what}: found a folder; expected a file`)
}

/** Limit for one template. Each rendering requests at least one more, and each is a request to an API server. */
const MAX_KUBECONFIGS = 20

/** Issues the missing kubeconfigs and returns all. @param template its name. @throws the errors of the source; BlueprintError for too many. */
async function issueRequested(
  source: KubeconfigSource,
  { known, requested, template }: IssueInput,
): Promise<IssuedKubeconfigs> {
  const unknown = new Map(requested.filter(({ key }) => !Object.hasOwn(known, key)).map((one) => [one.key, one]))
  if (Object.keys(known).length + unknown.size > MAX_KUBECONFIGS) {
    const found = `found more than ${MAX_KUBECONFIGS} requests for kubeconfigs; expected fewer`
    throw new BlueprintError('TemplatingFailed', `template "${template}": ${found}`)
  }
  const issued: (readonly [string, IssuedKubeconfig])[] = []
  for (const one of unknown.values()) issued.push([one.key, await source.issue(one)])
  return { ...known, ...Object.fromEntries(issued) }
}

interface IssueInput {
  readonly known: IssuedKubeconfigs
  readonly requested: readonly KubeconfigRequest[]
  readonly template: string
}
