// Reads and writes the states that executions keep between jobs, e.g. generated passwords: one Secret per execution. Source: spec/landscaper.md 1.15,
// 3.6.
//
//   T1. A state is written before the objects that were rendered with it, so a rendering after a crash gives the same objects.
//   T2. The state of an earlier Installation with the same name is ignored.

import { JOB_ID_LABEL } from '../../../workflows/landscaper/contract.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { canonicalJson, type Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { PARALLEL_READS, type WriteDataInput } from '../data-objects.ts'
import { finalFailure } from '../../kube/errors.ts'
import { isOwnedBy, ownerReference } from '../../kube/owners.ts'
import { readObject } from '../../kube/read-family.ts'
import { entriesOf, secretResource } from '../../kube/core-kinds.ts'
import { ownerOf } from '../../kube/object-views.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import type { TemplateExecutor } from '../render/blueprint/blueprint.ts'
import { titleOf } from '../render/blueprint/blueprint-definition.ts'
import type { ExecutionStates } from '../render/executor.ts'
import { stateSecretName } from '../render/names.ts'
import { YamlError } from '../../yaml/read-yaml.ts'

export type StateUse = 'deploy' | 'export'

const STATE_KEY = 'config'

/** The states of the previous job by executor name. @throws `ERR_CONFIGURATION_PROBLEM` (final) for a state that is not YAML. */
export async function loadStates(
  deps: LandscaperDeps,
  subject: Subject,
  use: StateUse,
  executors: readonly TemplateExecutor[],
): Promise<ExecutionStates> {
  const byName = [...new Map(executors.map((executor) => [executor.name, executor])).values()]
  const found = await inParallel(byName, PARALLEL_READS, async (executor) => {
    const name = stateSecretName(subject.name, use, executor.name)
    const secret = await readObject(deps, secretResource, subject.namespace, name)
    if (secret === undefined) return []
    if (ownerOf(secret) !== undefined && !isOwnedBy(secret, installationKind, subject)) return []
    const state = await stateIn(deps, secret, executor)
    return state === undefined ? [] : [[executor.name, state] as const]
  })
  return Object.fromEntries(found.flat())
}

async function stateIn(deps: LandscaperDeps, secret: KubeObject, executor: TemplateExecutor): Promise<unknown> {
  const encoded = entriesOf(secret)?.[STATE_KEY]
  if (encoded === undefined) return undefined
  const { namespace = '', name } = secret.metadata
  const place = `secret ${namespace}/${name}: key ${STATE_KEY}`
  try {
    const text = Buffer.from(encoded, 'base64').toString('utf8')
    return (await deps.landscaper.templates.data.yaml(text, place)) ?? undefined
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw finalFailure(
      'ERR_CONFIGURATION_PROBLEM',
      `${place} with the state of execution "${titleOf(executor)}" is not valid YAML: line ${error.line}: ${error.reason}; delete the Secret`,
    )
  }
}

/** The input of `writeDataObjects`: the rendered states that differ from the loaded ones. */
export function stateSecrets(
  subject: Subject,
  jobID: string,
  use: StateUse,
  { loaded, rendered }: { readonly loaded: ExecutionStates; readonly rendered: ExecutionStates },
): WriteDataInput {
  const changed = Object.entries(rendered).filter(
    ([executor, state]) => !Object.hasOwn(loaded, executor) || canonicalJson(loaded[executor]) !== canonicalJson(state),
  )
  return {
    watched: secretResource,
    namespace: subject.namespace,
    owner: ownerReference(installationKind, subject),
    jobID,
    keepsJobID: true,
    takenCode: 'NameTaken',
    objects: changed.map(([executor, state]) => ({
      name: stateSecretName(subject.name, use, executor),
      labels: { [JOB_ID_LABEL]: jobID },
      content: { data: { [STATE_KEY]: Buffer.from(canonicalJson(state)).toString('base64') } },
    })),
  }
}
