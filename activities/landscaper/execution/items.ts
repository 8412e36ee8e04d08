// The items of an Execution as data: read in either form, and as the DeployItem objects they shall become.
// Source: spec/landscaper.md 1.3, 1.13, 1.15, 2.7.

import {
  DELETE_WITHOUT_UNINSTALL_ANNOTATION,
  DEPENDS_ON_ANNOTATION,
  FINALIZER,
  ITEM_NAME_LABEL,
  MANAGED_BY_LABEL,
} from '../../../workflows/landscaper/contract.ts'
import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { deployItemKind } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { type DeployItemTemplate, type Execution, executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import type { KubeObject } from '../../kube/client.ts'
import { ownerReference } from '../../kube/owners.ts'
import { withoutUninstall } from '../requests.ts'

// An Execution holds at most 1.5 MiB (etcd); its items, decompressed, are bounded to what a hostile archive must not exceed.
const ITEMS_LIMIT_BYTES = 32 * 1024 * 1024
const GENERATED_NAME_LIMIT = 63
const SUFFIX_LENGTH = 5
// Where names were cut, the hash alone tells items apart.
const CUT_SUFFIX_LENGTH = 10
const TYPE_ANNOTATION = 'landscaper.gardener.cloud/deployer-type'
const TARGET_ANNOTATION = 'landscaper.gardener.cloud/deployer-target-name'
const NO_TARGET = '.noTargetName'

/** The items of `spec.deployItems`, or of `spec.deployItemsCompressed` (base64 of gzipped JSON), or why they cannot be read. */
export function decodeItems({
  spec,
}: Pick<Execution, 'spec'>): { items: readonly DeployItemTemplate[] } | { problem: string } {
  const compressed = spec.deployItemsCompressed ?? ''
  if (compressed === '') return { items: spec.deployItems ?? [] }
  const json = unpack(compressed)
  if (typeof json !== 'string') return json
  const items = parseJson(json)
  if (Array.isArray(items) && items.every(isTemplate)) return { items }
  // Neither the content nor the parser's message, which quotes it: configurations may be secret.
  const found =
    items === undefined ? 'no JSON' : Array.isArray(items) ? 'a list with other things' : 'JSON of another shape'
  return {
    problem: `spec.deployItemsCompressed holds ${found}; expected a gzipped JSON list of deploy items with name and type`,
  }
}

function unpack(compressed: string): string | { problem: string } {
  try {
    return gunzipSync(Buffer.from(compressed, 'base64'), { maxOutputLength: ITEMS_LIMIT_BYTES }).toString('utf8')
  } catch (error) {
    const isLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    const message = error instanceof Error ? error.message : String(error)
    const found = isLarge ? `more than ${ITEMS_LIMIT_BYTES} bytes when unpacked` : message
    return {
      problem: `spec.deployItemsCompressed cannot be read (${found}); expected base64 of a gzipped JSON list of deploy items`,
    }
  }
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

// The API server checks the plain form only.
function isTemplate(value: unknown): value is DeployItemTemplate {
  if (typeof value !== 'object' || value === null) return false
  const { name, type, dependsOn = [] } = value as Partial<Readonly<Record<keyof DeployItemTemplate, unknown>>>
  const isListOfNames = Array.isArray(dependsOn) && dependsOn.every((one) => typeof one === 'string')
  return typeof name === 'string' && typeof type === 'string' && isListOfNames
}

/** The name of the DeployItem for an item: the same in every try of a job, another one in another job. Source: docs/architecture.md "Created names". */
export function deployItemName(execution: KubeObject, item: string, jobID: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([execution.metadata.uid, item, jobID]))
    .digest('hex')
  const full = `${execution.metadata.name}-${item}`
  const isWhole = full.length + 1 + SUFFIX_LENGTH <= GENERATED_NAME_LIMIT
  const suffix = hash.slice(0, isWhole ? SUFFIX_LENGTH : CUT_SUFFIX_LENGTH)
  // A label of a DNS name, which the dots separate, ends with a letter or digit.
  const base = full.slice(0, GENERATED_NAME_LIMIT - suffix.length - 1).replace(/[.-]+$/, '')
  return `${base}-${suffix}`
}

/** The labels, annotations and spec that the item's DeployItem shall have. */
export function desiredDeployItem(execution: Execution, item: DeployItemTemplate) {
  const { metadata } = execution
  const { context } = execution.spec
  const { type, config, target, timeout, updateOnChangeOnly, onDelete } = item
  return {
    labels: { ...item.labels, [MANAGED_BY_LABEL]: metadata.name, [ITEM_NAME_LABEL]: item.name },
    annotations: {
      [DEPENDS_ON_ANNOTATION]: (item.dependsOn ?? []).join(','),
      [TYPE_ANNOTATION]: type,
      [TARGET_ANNOTATION]: target?.name ?? NO_TARGET,
      ...(withoutUninstall(execution) && { [DELETE_WITHOUT_UNINSTALL_ANNOTATION]: 'true' }),
    },
    spec: {
      type,
      ...(context !== undefined && { context }),
      config,
      ...(target !== undefined && { target }),
      ...(timeout !== undefined && { timeout }),
      ...(updateOnChangeOnly !== undefined && { updateOnChangeOnly }),
      ...(onDelete !== undefined && { onDelete }),
    },
  }
}

/** The whole DeployItem to create. */
export function newDeployItem(execution: Execution, item: DeployItemTemplate, jobID: string): KubeObject {
  const { metadata } = execution
  const { labels, annotations, spec } = desiredDeployItem(execution, item)
  return {
    apiVersion: deployItemKind.apiVersion,
    kind: deployItemKind.kind,
    metadata: {
      name: deployItemName(execution, item.name, jobID),
      namespace: metadata.namespace,
      labels,
      annotations,
      finalizers: [FINALIZER],
      ownerReferences: [ownerReference(executionKind, metadata)],
    },
    spec,
  }
}
