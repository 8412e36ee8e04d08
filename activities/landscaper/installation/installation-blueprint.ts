// The blueprint of an Installation, with the component version that it is of. Source: spec/landscaper.md 2.3 "Init" 2.

import { componentVersionOverwritesKind } from '../../../workflows/landscaper/component-version-overwrites/kind.ts'
import { type Context, contextKind } from '../../../workflows/landscaper/context/kind.ts'
import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'
import { finalFailure } from '../../kube/errors.ts'
import { readObject } from '../../kube/read-family.ts'
import type { Overwrite } from '../components/component-overwrites.ts'
import { credentialsOf } from '../components/context-credentials.ts'
import { resolveComponents } from '../components/resolve-components.ts'
import { customerIn } from '../customer.ts'
import type { LandscaperDeps } from '../deps.ts'
import { DEFAULT_CONTEXT as DEFAULT } from './context-wait.ts'
import { readBlueprint, type Blueprint } from '../render/blueprint.ts'
import { BlueprintError } from '../render/blueprint-error.ts'

/**
 * Reads it with all that it refers to, once for a job. One without component is read from the Installation alone.
 *
 * @throws BlueprintError; final fault `ContextNotFound`; retryable failures of the API server.
 */
export async function blueprintOf(deps: LandscaperDeps, installation: Installation, jobID: string): Promise<Blueprint> {
  const { metadata, spec } = installation
  const { context = DEFAULT, blueprint, componentDescriptor: definition } = spec
  const { templates, components } = deps.landscaper
  if (definition === undefined) return await readBlueprint(templates.data, blueprint)
  const { uid, generation } = metadata
  return await components.blueprints.of({ uid, jobID, generation }, async () => {
    const found = await readContext(deps, metadata.namespace, context)
    refuseUnchecked(installation)
    const { repositoryContext } = found ?? {}
    const overwrites = await overwritesOf(deps, metadata.namespace, { found, context })
    const { registryFolder } = components
    const registries = registriesOf(deps, metadata.namespace, found)
    const source = { definition, overwrites, repositoryContext, context, registryFolder, registries }
    return await readBlueprint(templates.data, blueprint, await resolveComponents(templates.data, source))
  })
}

/** Registries as a Context lets them be read. Its credentials are read when they are needed first, and once: a job has what it began with. */
function registriesOf(deps: LandscaperDeps, namespace: string, context: Context | undefined) {
  const { registries } = deps.landscaper.components
  let credentials: ReturnType<typeof credentialsOf> | undefined
  return async () => {
    credentials ??= credentialsOf(deps, namespace, context)
    // What has failed may not fail the next time.
    credentials.catch(() => (credentials = undefined))
    return registries.of(customerIn(namespace), await credentials)
  }
}

/** Whether the Context of an Installation without component is there; one that has a component is read with that. @throws `ContextNotFound` */
export async function checkContext(deps: LandscaperDeps, { metadata, spec }: Installation): Promise<void> {
  const { context = DEFAULT, componentDescriptor } = spec
  if (context !== DEFAULT && componentDescriptor === undefined) await readContext(deps, metadata.namespace, context)
}

// An absent Context named default counts as empty; any other must be there. Source: issue text and spec/landscaper.md 1.7.
async function readContext(deps: LandscaperDeps, namespace: string, name: string): Promise<Context | undefined> {
  const context = await readObject(deps, { ...contextKind, projection: [], hashed: [] }, namespace, name)
  if (context === undefined && name !== DEFAULT)
    throw finalFailure('ContextNotFound', `spec.context names context ${namespace}/${name}; there is none`)
  return context
}

/** @throws `ComponentVersionOverwritesNotFound`: who wants a component replaced does not want it as it is. */
async function overwritesOf(
  deps: LandscaperDeps,
  namespace: string,
  { found, context }: { readonly found: Context | undefined; readonly context: string },
): Promise<readonly Overwrite[]> {
  const name = found?.componentVersionOverwrites ?? ''
  if (name === '') return []
  const kind = { ...componentVersionOverwritesKind, projection: [], hashed: [] }
  const overwrites = await readObject(deps, kind, namespace, name)
  if (overwrites !== undefined) return overwrites.overwrites ?? []
  const message = `componentVersionOverwrites of context ${context} names ${namespace}/${name}; there is none`
  throw finalFailure('ComponentVersionOverwritesNotFound', message)
}

// Who wants a component checked does not want it as it is.
function refuseUnchecked({ spec: { verification } }: Installation): void {
  if (verification !== undefined)
    throw new BlueprintError(
      'NotSupported',
      'spec.verification: found one, expected none: signatures of components are not verified yet',
    )
}
