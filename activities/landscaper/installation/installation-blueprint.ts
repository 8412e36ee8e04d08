// Reads the blueprint of an Installation with its component version. Source: spec/landscaper.md 2.3 "Init" 2.

import { componentVersionOverwritesKind } from '../../../workflows/landscaper/component-version-overwrites/kind.ts'
import { type Context, contextKind } from '../../../workflows/landscaper/context/kind.ts'
import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { finalFailure } from '../../kube/errors.ts'
import { readObject } from '../../kube/read-family.ts'
import type { Overwrite } from '../components/component-overwrites.ts'
import { credentialsOf, keysOf } from '../components/context-secrets.ts'
import { resolveComponents, resolveVerified } from '../components/resolve-components.ts'
import type { Verification, Verified } from '../components/verify-components.ts'
import { tenantOf } from '../tenant-call.ts'
import type { LandscaperDeps } from '../deps.ts'
import { DEFAULT_CONTEXT as DEFAULT } from './context-wait.ts'
import { readBlueprint, type Blueprint } from '../render/blueprint/blueprint.ts'
import { BlueprintError } from '../render/render-errors.ts'
import type { Fields } from '../render/field-reader.ts'
import { MAX_NESTING, type Parent, parentOf } from './parent.ts'
import { componentOf } from './spec.ts'

/**
 * Reads the blueprint with all referenced components, once per job. Without a component, everything is in the Installation.
 *
 * @throws BlueprintError; final failure `ContextNotFound`; retryable failures of the API server.
 */
export async function blueprintOf(deps: LandscaperDeps, installation: Installation, jobID: string): Promise<Blueprint> {
  const { metadata, spec } = installation
  const { context = DEFAULT, blueprint } = spec
  const definition = componentOf(spec)
  const { templates, components } = deps.landscaper
  if (definition === undefined) return await readBlueprint(templates.data, blueprint)
  const { uid, generation } = metadata
  return await components.blueprints.of({ uid, jobID, generation }, async () => {
    const found = await readContext(deps, metadata.namespace, context)
    const source = await sourceOf(deps, installation, { definition, found })
    return await readBlueprint(templates.data, blueprint, await resolveComponents(templates.data, source))
  })
}

interface FoundContext {
  readonly definition: Fields
  /** The Context; undefined if it does not exist. */
  readonly found: Context | undefined
  /** The number of sub-installations on the path. */
  readonly depth?: number
}

async function sourceOf(
  deps: LandscaperDeps,
  installation: Installation,
  { definition, found, depth = 0 }: FoundContext,
) {
  const { namespace } = installation.metadata
  const { context = DEFAULT } = installation.spec
  const { registryFolder } = deps.landscaper.components
  return {
    definition,
    context,
    registryFolder,
    repositoryContext: found?.repositoryContext,
    verification: await verificationOf(deps, installation, { found, depth }),
    overwrites: await overwritesOf(deps, namespace, { found, context }),
    registries: registriesOf(deps, namespace, found),
  }
}

/** Undefined if the component need not be verified. Source: spec/landscaper.md 3.13. */
async function verificationOf(
  deps: LandscaperDeps,
  installation: Installation,
  { found, depth }: { readonly found: Context | undefined; readonly depth: number },
): Promise<Verification | undefined> {
  const { signatures } = deps.landscaper.components
  const { context = DEFAULT, verification } = installation.spec
  if (signatures === 'never') return undefined
  if (verification === undefined) {
    if (signatures === 'asked') return undefined
    const why = 'because the worker installs only signed components (--verify-signatures always)'
    throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', `spec.verification: found nothing; set signatureName, ${why}`)
  }
  const { signatureName } = verification
  const keys = await keysOf(deps, installation.metadata.namespace, { context: found, named: context, signatureName })
  const parent = parentOf(installation)
  const isTooDeep = depth > MAX_NESTING
  return {
    signatureName,
    keys,
    ...(parent !== undefined && !isTooDeep && { ofParent: () => verifiedOf(deps, installation, parent, depth + 1) }),
  }
}

const NOTHING_VERIFIED: Verified = new Map()

/** A verification with another signature name or Context proves nothing for this Installation. */
function hasSameVerification(parent: Installation['spec'], own: Installation['spec']): boolean {
  return (
    parent.verification?.signatureName === own.verification?.signatureName &&
    (parent.context ?? DEFAULT) === (own.context ?? DEFAULT)
  )
}

/** The verified digests of a parent's component and its references, for its sub-installations. */
async function verifiedOf(
  deps: LandscaperDeps,
  { metadata: { namespace }, spec: own }: Installation,
  { name, uid }: Parent,
  depth: number,
): Promise<Verified> {
  const parent = await readObject(deps, { ...installationKind, projection: [], hashed: [] }, namespace, name)
  const definition = parent === undefined ? undefined : componentOf(parent.spec)
  if (parent === undefined || parent.metadata.uid !== uid || definition === undefined) return NOTHING_VERIFIED
  if (!hasSameVerification(parent.spec, own)) return NOTHING_VERIFIED
  const found = await readContext(deps, namespace, parent.spec.context ?? DEFAULT)
  const { verification, ...source } = await sourceOf(deps, parent, { definition, found, depth })
  if (verification === undefined) return NOTHING_VERIFIED
  return await resolveVerified(deps.landscaper.templates.data, { ...source, verification })
}

/** The registries with the credentials of a Context. Credentials are read on first use, once per job. */
function registriesOf(deps: LandscaperDeps, namespace: string, context: Context | undefined) {
  const { registries } = deps.landscaper.components
  let credentials: ReturnType<typeof credentialsOf> | undefined
  return async () => {
    credentials ??= credentialsOf(deps, namespace, context)
    // A failed read is repeated.
    credentials.catch(() => (credentials = undefined))
    return registries.of(tenantOf(namespace), await credentials)
  }
}

/** Checks that the Context of an Installation without component exists; with a component, blueprintOf reads it. @throws `ContextNotFound` */
export async function checkContext(deps: LandscaperDeps, { metadata, spec }: Installation): Promise<void> {
  const { context = DEFAULT } = spec
  if (context !== DEFAULT && componentOf(spec) === undefined) await readContext(deps, metadata.namespace, context)
}

// A missing Context `default` counts as empty; any other must exist. Source: issue text and spec/landscaper.md 1.7.
async function readContext(deps: LandscaperDeps, namespace: string, name: string): Promise<Context | undefined> {
  const context = await readObject(deps, { ...contextKind, projection: [], hashed: [] }, namespace, name)
  if (context === undefined && name !== DEFAULT)
    throw finalFailure('ContextNotFound', `spec.context: Context "${namespace}/${name}" does not exist; create it`)
  return context
}

/** @throws `ComponentVersionOverwritesNotFound`: without its overwrites the component must not be used. */
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
  const message = `Context "${namespace}/${context}": componentVersionOverwrites: ComponentVersionOverwrites "${namespace}/${name}" does not exist; create it or remove the name`
  throw finalFailure('ComponentVersionOverwritesNotFound', message)
}
