// Resolves the component version of an Installation with all its references, once per job. Source: spec/landscaper.md 1.2, 1.7, 2.5, 3.6.
//
//   C1. References are followed transitively, each component once. A cycle is reported with its path; the number of components is limited.
//   C2. Replacements by ComponentVersionOverwrites apply everywhere as if they had been written: in lookups and in the descriptors that templates
//       see.
//   C3. A referenced component is in the repository of the first component, unless a replacement names another repository.
//   C4. Components are verified as they were read, before they are used; each content is verified when it is read.

import { canonicalJson } from '../../../workflows/kit/index.ts'
import { BlueprintError } from '../render/render-errors.ts'
import {
  readComponent,
  titleOfComponent,
  type Component,
  type ComponentReference,
} from '../render/blueprint/component-descriptor.ts'
import {
  replaceReferences,
  type ComponentScope,
  type ResolvedResource,
  type ResourceContent,
} from '../render/blueprint/component-scope.ts'
import { readFields, type Fields } from '../render/field-reader.ts'
import { type Overwrite, overwrite, type ReferenceParts, replacementText } from './component-overwrites.ts'
import type { ComponentData, FoundComponent } from './component-repository.ts'
import {
  checkContent,
  verifyComponents,
  type ReadComponent,
  type Verification,
  type Verified,
} from './verify-components.ts'
import { type NamedRepository, RepositoryOfContext, type RepositorySource } from './repository-of-context.ts'

export interface ComponentSource extends RepositorySource {
  /** The Installation's `spec.componentDescriptor`. */
  readonly definition: Fields
  /** The overwrites that the Context names; empty by default. */
  readonly overwrites?: readonly Overwrite[]
  /** Undefined if the component need not be verified. */
  readonly verification?: Verification | undefined
}

/** For C1. */
export const MAX_COMPONENTS = 500
const PLACE = 'spec.componentDescriptor'

/** @throws BlueprintError with field, actual and expected value. */
export async function resolveComponents(data: ComponentData, source: ComponentSource): Promise<ComponentScope> {
  const { resolver, verified } = await resolve(data, source)
  return resolver.scope(source.definition, verified)
}

/** The verified digests of the components, without their scope. @throws as `resolveComponents`. */
export async function resolveVerified(
  data: ComponentData,
  source: ComponentSource & { readonly verification: Verification },
): Promise<Verified> {
  return (await resolve(data, source)).verified ?? new Map()
}

async function resolve(data: ComponentData, source: ComponentSource) {
  const fields = readFields(
    source.definition,
    ['spec', 'componentDescriptor'],
    (_, problem) => refuse(`${PLACE}: ${problem}`),
    'exact',
  )
  const [ref, inline] = [fields.fields('ref'), fields.raw('inline')]
  if ((ref === undefined) === (inline === undefined))
    refuse(
      `${PLACE}: found ${ref === undefined ? 'neither ref nor inline' : 'both ref and inline'}; expected one of them`,
    )
  const own = inline === undefined ? undefined : readComponent(inline, `${PLACE}.inline`)
  const resolver = new Resolver(data, source, {
    named: own === undefined ? ref?.['repositoryContext'] : own.repositoryContexts.at(-1),
    field: own === undefined ? `${PLACE}.ref.repositoryContext` : `${PLACE}.inline, its last repositoryContext`,
  })
  await (own === undefined ? resolver.fromReference(namesIn(ref ?? {})) : resolver.fromInline(own))
  const { verification } = source
  return { resolver, verified: verification === undefined ? undefined : await resolver.verify(verification) }
}

function namesIn(ref: Fields): Names {
  const { componentName, version } = ref
  if (typeof componentName !== 'string' || componentName === '')
    refuse(`${PLACE}.ref.componentName: found nothing; add it`)
  if (typeof version !== 'string' || version === '') refuse(`${PLACE}.ref.version: found nothing; add it`)
  return { componentName, version }
}

type Names = Pick<ReferenceParts, 'componentName' | 'version'>

interface LocatedComponent extends FoundComponent {
  readonly repository: RepositoryOfContext
  /** The Installation or a label of a reference contains the descriptor. */
  readonly isInline: boolean
}

/** A component with replacements; `read` is the component as read, with the titles of the components to which its references lead. */
interface VisitedComponent extends LocatedComponent {
  readonly read: ReadComponent
}

class Resolver {
  readonly #data: ComponentData
  readonly #source: ComponentSource
  /** The repository of the first component, unless it is replaced by a component of another repository. */
  #firstRepository: RepositoryOfContext
  readonly #otherRepositories = new Map<string, RepositoryOfContext>()
  readonly #visited = new Map<string, VisitedComponent>()
  readonly #replacements: string[] = []

  constructor(data: ComponentData, source: ComponentSource, home: NamedRepository) {
    this.#data = data
    this.#source = source
    this.#firstRepository = new RepositoryOfContext(data, source, home)
  }

  async fromReference(names: Names): Promise<void> {
    const resolved = this.#applyOverwrites(names)
    this.#firstRepository = resolved.repository
    await this.#visit(await this.#find(resolved, `${PLACE}.ref`))
  }

  async fromInline(component: Component): Promise<void> {
    await this.#visit({ component, folder: undefined, repository: this.#firstRepository, isInline: true })
  }

  /** @param path of components from the first one. */
  async #visit(next: LocatedComponent, path: readonly string[] = []): Promise<void> {
    const title = titleOfComponent(next.component)
    const here = [...path, title]
    const resolved = next.component.references.map((reference) => this.#applyOverwrites(reference))
    const read = { component: next.component, links: resolved.map(titleOf) }
    this.#visited.set(title, { ...next, component: replaceReferences(next.component, resolved), read })
    if (this.#visited.size > MAX_COMPONENTS)
      refuse(`${PLACE}: found more than ${MAX_COMPONENTS} referenced components; expected fewer`)
    for (const [index, reference] of next.component.references.entries())
      await this.#visitReference(reference, resolved[index] ?? this.#applyOverwrites(reference), here)
  }

  async #visitReference(
    reference: ComponentReference,
    resolved: ResolvedReference,
    here: readonly string[],
  ): Promise<void> {
    const wanted = titleOf(resolved)
    if (here.includes(wanted))
      refuse(`${PLACE}: components refer to each other: ${formatCycle(here, wanted)}; remove one of these references`)
    const known = this.#visited.get(wanted)
    if (known === undefined) await this.#visit(await this.#load(reference, resolved), here)
    else if (!known.isInline && known.repository !== resolved.repository)
      refuse(`${reference.place}: found ${wanted} in two repositories; expected one`)
  }

  async #load({ inline, place }: ComponentReference, resolved: ResolvedReference): Promise<LocatedComponent> {
    if (inline === undefined || resolved.isReplaced) return await this.#find(resolved, place)
    const component = readComponent(inline, `${place}.labels`)
    const [title, wanted] = [titleOfComponent(component), titleOf(resolved)]
    if (title !== wanted)
      refuse(`${place}.labels: found the descriptor of "${title}"; expected the descriptor of "${wanted}"`)
    return { component, folder: undefined, repository: this.#firstRepository, isInline: true }
  }

  async #find(
    { componentName: name, version, repository, isReplaced }: ResolvedReference,
    written: string,
  ): Promise<LocatedComponent> {
    const place = isReplaced ? `${written}, replaced by a substitution of componentVersionOverwrites` : written
    return { ...(await repository.find({ name, version }, place)), repository, isInline: false }
  }

  /** Implements C2 and C3. */
  #applyOverwrites({ componentName, version }: Names): ResolvedReference {
    const written = { repositoryContext: this.#firstRepository.repositoryContext, componentName, version }
    const resolved = overwrite(written, this.#source.overwrites ?? [])
    const isReplaced = resolved !== written
    if (isReplaced) this.#replacements.push(replacementText(written, resolved))
    const isFirst = resolved.repositoryContext === written.repositoryContext
    return {
      ...resolved,
      isReplaced,
      repository: isFirst ? this.#firstRepository : this.#otherRepository(resolved.repositoryContext),
    }
  }

  #otherRepository(named: unknown): RepositoryOfContext {
    const key = canonicalJson(named)
    if (key === canonicalJson(this.#firstRepository.repositoryContext ?? null)) return this.#firstRepository
    const field = 'substitution.repositoryContext of componentVersionOverwrites'
    const known =
      this.#otherRepositories.get(key) ?? new RepositoryOfContext(this.#data, this.#source, { named, field })
    this.#otherRepositories.set(key, known)
    return known
  }

  /** Implements C4. */
  async verify(verification: Verification): Promise<Verified> {
    const [own = ''] = this.#visited.keys()
    const components = new Map([...this.#visited].map(([title, { read }]) => [title, read]))
    return await verifyComponents(own, components, verification)
  }

  /** @param verified the verified digests; undefined without verification. */
  scope(definition: Fields, verified: Verified | undefined): ComponentScope {
    const places = [...this.#visited.values()]
    const [first, ...rest] = places.map(({ component }) => component)
    if (first === undefined) throw new Error('a component was resolved without itself')
    const placeOf = new Map(places.map((one) => [one.component, one]))
    const found = (component: Component) =>
      placeOf.get(component) ?? refuse(`${titleOfComponent(component)} is unknown`)
    return {
      source: definition,
      own: first,
      all: [first, ...rest],
      overwrites: [...new Set(this.#replacements)],
      definitionOf: (component) => {
        const { isInline, repository, read } = found(component)
        // The descriptor as written: replacements of its references are applied there once, too.
        return isInline ? { inline: read.component.document } : { ref: repository.referenceTo(component) }
      },
      readContent: async (wanted) => {
        const { repository, folder } = found(wanted.component)
        const content = await repository.contentOf(wanted, folder)
        if (verified !== undefined) checkVerified(content, wanted, verified)
        return content
      },
    }
  }
}

/** Implements C4. */
function checkVerified(content: ResourceContent, { component, resource }: ResolvedResource, verified: Verified): void {
  const title = titleOfComponent(component)
  const digests = verified.get(title)?.resources[component.resources.indexOf(resource)] ?? []
  checkContent(content, digests, `resource "${resource.name}" of component "${title}"`)
}

interface ResolvedReference extends ReferenceParts {
  readonly repository: RepositoryOfContext
  readonly isReplaced: boolean
}

function titleOf({ componentName: name, version }: Names): string {
  return titleOfComponent({ name, version })
}

/** `a:1 -> b:1 -> a:1`, without the components before the cycle. */
function formatCycle(path: readonly string[], wanted: string): string {
  return [...path.slice(path.indexOf(wanted)), wanted].join(' -> ')
}

function refuse(message: string): never {
  throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
