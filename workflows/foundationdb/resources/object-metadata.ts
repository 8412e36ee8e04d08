// Labels, annotations and hashes of the objects of a cluster. Source: spec/foundationdb.md 1.1 `labels`, 4.14.

import { canonicalJson, fieldsOf, sha256 } from '../../kit/index.ts'
import { PROCESS_CLASS_LABEL, PROCESS_GROUP_LABEL } from '../contract.ts'
import type { ClusterSettings } from '../model/cluster-settings.ts'

type Texts = Readonly<Record<string, string>>

/** The identity of a process group. */
export interface ProcessGroup {
  readonly processGroupID: string
  readonly processClass: string
}

/** The SHA-256 of a spec, for `LAST_SPEC_ANNOTATION`. The order of keys and undefined fields do not count. */
export function specHash(spec: unknown): string {
  return sha256(canonicalJson(spec))
}

/** The labels of every object of the cluster. */
export function clusterLabels({
  matchLabels,
  resourceLabels,
}: Pick<ClusterSettings, 'matchLabels' | 'resourceLabels'>): Texts {
  return { ...resourceLabels, ...matchLabels }
}

/** The labels of the objects of a process group. */
export function processGroupLabels(settings: ClusterSettings, { processGroupID, processClass }: ProcessGroup): Texts {
  const { processClassLabels = [PROCESS_CLASS_LABEL], processGroupIDLabels = [PROCESS_GROUP_LABEL] } =
    settings.spec.labels ?? {}
  return {
    ...clusterLabels(settings),
    ...Object.fromEntries(processClassLabels.map((name) => [name, processClass])),
    ...Object.fromEntries(processGroupIDLabels.map((name) => [name, processGroupID])),
  }
}

/** The texts of a map in a user's template. */
export function textsOf(value: unknown): Texts {
  const entries = Object.entries(fieldsOf(value))
  return Object.fromEntries(entries.flatMap(([name, text]) => (typeof text === 'string' ? [[name, text]] : [])))
}
