// The component version that an Installation names, and all that it refers to: read once for a job. Source: spec/landscaper.md 1.2, 1.7, 2.5, 3.6.
//
//   C1. References are followed to their end, each component once; a ring of them is told with its path, and so is one component too many.

import { BlueprintError } from '../render/blueprint-error.ts'
import {
  readComponent,
  titleOfComponent,
  type Component,
  type ComponentReference,
} from '../render/component-descriptor.ts'
import type { ComponentScope } from '../render/component-scope.ts'
import { readFields, type Fields } from '../render/field-reader.ts'
import type { ComponentData, FoundComponent } from './component-repository.ts'
import { RepositoryOfContext, type RepositorySource } from './repository-of-context.ts'

export interface ComponentSource extends RepositorySource {
  /** The Installation's `spec.componentDescriptor`. */
  readonly definition: Fields
}

/** C1 */
export const MOST_COMPONENTS = 500
const PLACE = 'spec.componentDescriptor'

/** @throws BlueprintError: field, found and expected. */
export async function resolveComponents(data: ComponentData, source: ComponentSource): Promise<ComponentScope> {
  const fields = readFields(
    source.definition,
    ['spec', 'componentDescriptor'],
    (_, problem) => refuse(`${PLACE}: ${problem}`),
    'exact',
  )
  const [ref, inline] = [fields.fields('ref'), fields.raw('inline')]
  if ((ref === undefined) === (inline === undefined))
    refuse(
      `${PLACE}: found ${ref === undefined ? 'neither ref nor inline' : 'both ref and inline'}, expected one of them`,
    )
  const own = inline === undefined ? undefined : readComponent(inline, `${PLACE}.inline`)
  const repository = new RepositoryOfContext(
    data,
    source,
    own === undefined
      ? { named: ref?.['repositoryContext'], field: `${PLACE}.ref.repositoryContext` }
      : { named: own.repositoryContexts.at(-1), field: `${PLACE}.inline, its last repositoryContext` },
  )
  const walk = new Walk(repository)
  const root =
    own === undefined
      ? await repository.find(namesIn(ref ?? {}), `${PLACE}.ref`)
      : { component: own, folder: undefined }
  await walk.from(root)
  return walk.scope(source.definition, own !== undefined)
}

function namesIn(ref: Fields): { readonly name: string; readonly version: string } {
  const { componentName: name, version } = ref
  if (typeof name !== 'string' || name === '') refuse(`${PLACE}.ref: found no componentName, expected one`)
  if (typeof version !== 'string' || version === '') refuse(`${PLACE}.ref: found no version, expected one`)
  return { name, version }
}

class Walk {
  readonly #repository: RepositoryOfContext
  readonly #visited = new Map<string, FoundComponent>()
  readonly #inline = new Set<Component>()

  constructor(repository: RepositoryOfContext) {
    this.#repository = repository
  }

  /** @param path of components that led here. */
  async from(next: FoundComponent, path: readonly string[] = []): Promise<void> {
    const title = titleOfComponent(next.component)
    this.#visited.set(title, next)
    if (this.#visited.size > MOST_COMPONENTS)
      refuse(`${PLACE}: found more than ${MOST_COMPONENTS} components that it refers to, expected fewer`)
    const here = [...path, title]
    for (const reference of next.component.references) {
      const wanted = titleOfComponent({ name: reference.componentName, version: reference.version })
      if (here.includes(wanted))
        refuse(`${PLACE}: components refer to each other: ${ring(here, wanted)}; expected no ring`)
      if (!this.#visited.has(wanted)) await this.from(await this.#referred(reference), here)
    }
  }

  async #referred(reference: ComponentReference): Promise<FoundComponent> {
    const { inline, place, componentName: name, version } = reference
    if (inline === undefined) return await this.#repository.find({ name, version }, place)
    const component = readComponent(inline, `${place}.labels`)
    this.#inline.add(component)
    const title = titleOfComponent(component)
    const wanted = titleOfComponent({ name, version })
    if (title !== wanted) refuse(`${place}.labels: found the descriptor of ${title}, expected that of ${wanted}`)
    return { component, folder: undefined }
  }

  scope(definition: Fields, isInline: boolean): ComponentScope {
    const [first, ...rest] = [...this.#visited.values()].map(({ component }) => component)
    if (first === undefined) throw new Error('a component was resolved without itself')
    if (isInline) this.#inline.add(first)
    const places = new Map([...this.#visited.values()].map((one) => [one.component, one]))
    const [repository, inline] = [this.#repository, this.#inline]
    return {
      ...{ source: definition, own: first, all: [first, ...rest] },
      definitionOf: (component) =>
        inline.has(component) ? { inline: component.document } : { ref: repository.referenceTo(component) },
      contentOf: (found) => repository.contentOf(found, places.get(found.component)?.folder),
    }
  }
}

/** `a:1 -> b:1 -> a:1`, without what led to it. */
function ring(path: readonly string[], wanted: string): string {
  return [...path.slice(path.indexOf(wanted)), wanted].join(' -> ')
}

function refuse(message: string): never {
  throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
