// Contents of a component's resources that a template asks for while it is rendered (render-asking.ts).
// Source: spec/landscaper.md 3.7 `getResourceContent`.

import { BlueprintError } from './blueprint-error.ts'
import { titleOfComponent } from './component-descriptor.ts'
import type { ComponentScope } from './component-scope.ts'
import { contentOf, type FileContent } from './file-content.ts'
import type { WantedContent } from './template-engine.ts'

/** Of one template. Each rendering asks for one more at least. */
export const MOST_CONTENTS = 50
const OCTETS = 'application/octet-stream'

/** By the keys that the engine knows them by. @throws as `contentOf` of the scope; BlueprintError */
export async function contentsOf(
  scope: ComponentScope,
  wanted: readonly WantedContent[],
): Promise<Record<string, FileContent>> {
  const contents: Record<string, FileContent> = {}
  for (const place of wanted) contents[keyOf(place)] = await contentAt(scope, place)
  return contents
}

/** As deploy/templates/components.go has it. */
function keyOf({ component, version, index }: WantedContent): string {
  return `${component}:${version}#${index}`
}

async function contentAt(
  scope: ComponentScope,
  { component: name, version, index }: WantedContent,
): Promise<FileContent> {
  const title = titleOfComponent({ name, version })
  const component = scope.all.find((one) => titleOfComponent(one) === title)
  const resource = component?.resources[index]
  // A template may hand a descriptor of its own to a function.
  if (component === undefined || resource === undefined)
    throw new BlueprintError(
      'ComponentNotFound',
      `getResourceContent: found no resource ${index} of component ${title}`,
    )
  const content = await scope.contentOf({ component, resource })
  if ('bytes' in content)
    return content.mediaType === OCTETS ? content.bytes.toString('base64') : contentOf(content.bytes)
  const what = `getResourceContent: resource ${resource.name} of component ${title}`
  throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', `${what}: found a folder, expected a file`)
}
