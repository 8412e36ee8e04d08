// Parses the manifest deployer's configuration: two wire versions, one internal form, all mistakes in one error. Source: spec/landscaper.md 4.2.
//
// `continuousReconcile` is accepted without effect, as in Landscaper.

import { canonicalJson, nearMisses, shortenList } from '../../../../workflows/kit/index.ts'
import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { DeployError } from '../run/deployer.ts'
import { isNestedDeeper } from '../objects/nesting.ts'
import { type ReadinessConfig, readReadinessConfig } from '../objects/readiness/readiness-config.ts'
import { readExportsConfig, type ResourceExport } from '../objects/resource-exports.ts'
import { describeObject } from '../target/read-object.ts'
import { ConfigReader, isMap, type Json } from '../objects/config-reader.ts'
import { type DeletionGroup, readDeletionGroups } from '../objects/deletion-groups.ts'
import { resourceKey } from '../objects/managed-resources.ts'
import {
  type Manifest,
  POLICIES,
  readObjects,
  RECREATIONS,
  STRATEGIES,
  type UpdateStrategy,
} from '../objects/manifest.ts'

const GROUP = 'manifest.deployer.landscaper.gardener.cloud'
const OLD_API_VERSION = `${GROUP}/v1alpha1`
const API_VERSION = `${GROUP}/v1alpha2`
const KIND = 'ProviderConfiguration'
const MOST_MISTAKES = 20
const MOST_LEVELS = 100

export interface ManifestConfig {
  readonly apiVersion: string
  readonly updateStrategy: UpdateStrategy
  readonly manifests: readonly Manifest[]
  readonly readiness: ReadinessConfig
  readonly exports: readonly ResourceExport[]
  readonly deletionGroups: readonly DeletionGroup[]
  readonly deletionGroupsDuringUpdate: readonly DeletionGroup[]
}

/** @throws DeployError with ERR_CONFIGURATION_PROBLEM, naming every mistake. */
export function readManifestConfig(item: DeployItem): ManifestConfig {
  const { config } = item.spec
  const reader = new ConfigReader()
  const read = isTooDeep(reader, config) ? undefined : readConfig(reader, config)
  if (read === undefined || reader.mistakes.length > 0) throw invalidConfiguration(reader.mistakes)
  return read
}

/** The error of a configuration with these mistakes. */
function invalidConfiguration(mistakes: readonly string[]): DeployError {
  const message = shortenList(mistakes, MOST_MISTAKES).join(' | ')
  const { operation, reason, codes } = INVALID
  return new DeployError(operation, reason, message, codes)
}

const INVALID = {
  operation: 'ReadConfiguration',
  reason: 'InvalidConfiguration',
  codes: ['ERR_CONFIGURATION_PROBLEM'],
}

const KEYS = [
  ...['apiVersion', 'kind', 'updateStrategy', 'manifests', 'readinessChecks', 'continuousReconcile', 'exports'],
  ...['deletionGroups', 'deletionGroupsDuringUpdate'],
]

function refuseMisspelt(reader: ConfigReader, config: Json, field: string): void {
  for (const { found, meant } of nearMisses(config, KEYS))
    reader.mistakes.push(`${field}.${found}: unknown field; did you mean "${meant}"?`)
}

function readConfig(reader: ConfigReader, config: unknown): ManifestConfig | undefined {
  const field = 'spec.config'
  if (!isMap(config)) {
    reader.wrong(field, config ?? undefined, `a ${KIND} of ${API_VERSION}`)
    return undefined
  }
  const { apiVersion } = config
  if (config['kind'] !== KIND) reader.wrong(`${field}.kind`, config['kind'] ?? undefined, KIND)
  if (apiVersion !== API_VERSION && apiVersion !== OLD_API_VERSION) {
    reader.wrong(`${field}.apiVersion`, apiVersion ?? undefined, `one of ${OLD_API_VERSION}, ${API_VERSION}`)
    return undefined
  }
  refuseMisspelt(reader, config, field)
  const isOld = apiVersion === OLD_API_VERSION
  const strategies = isOld ? STRATEGIES.slice(0, 2) : STRATEGIES
  const entries = reader.list(config['manifests'], `${field}.manifests`)
  const manifests = entries.flatMap((entry, index) => {
    const at = `${field}.manifests[${index}]`
    return isOld ? readRawEntry(reader, entry, at) : readEntry(reader, entry, at)
  })
  return {
    apiVersion,
    updateStrategy: reader.word(config['updateStrategy'], `${field}.updateStrategy`, strategies, 'update'),
    manifests: withoutRepetitions(reader, manifests),
    readiness: readReadinessConfig(config['readinessChecks'], `${field}.readinessChecks`, reader.mistakes),
    exports: readExportsConfig(isOld ? undefined : config['exports'], `${field}.exports`, {
      mistakes: reader.mistakes,
      hasValues: false,
    }),
    deletionGroups: readDeletionGroups(reader, isOld ? undefined : config['deletionGroups'], `${field}.deletionGroups`),
    deletionGroupsDuringUpdate: readDeletionGroups(
      reader,
      isOld ? undefined : config['deletionGroupsDuringUpdate'],
      `${field}.deletionGroupsDuringUpdate`,
    ),
  }
}

// Checked before any other code reads the objects: an API server accepts objects with some thousands of levels.
function isTooDeep(reader: ConfigReader, config: unknown): boolean {
  if (!isMap(config)) return false
  const { manifests, ...others } = config
  const ofManifests: (readonly [string, unknown])[] = Array.isArray(manifests)
    ? manifests.map((entry: unknown, index) => [`manifests[${index}]`, entry])
    : [['manifests', manifests]]
  const deep = [...ofManifests, ...Object.entries(others)].filter(([, value]) => isNestedDeeper(value, MOST_LEVELS))
  for (const [name] of deep) reader.refuse(`spec.config.${name}`, 'more levels', `at most ${MOST_LEVELS} levels`)
  return deep.length > 0
}

interface Located {
  readonly field: string
  readonly manifest: Manifest
}

function readRawEntry(reader: ConfigReader, entry: unknown, field: string): Located[] {
  const plain = { policy: 'manage', annotateBeforeCreate: {}, annotateBeforeDelete: {} } as const
  const patches = { patchAfterDeployment: undefined, patchBeforeDelete: undefined, recreate: undefined }
  return readObjects(reader, entry, field).map(({ object, field: at }) => ({
    field: at,
    manifest: { object, ...plain, ...patches },
  }))
}

function readEntry(reader: ConfigReader, entry: unknown, field: string): Located[] {
  if (!isMap(entry)) {
    reader.wrong(field, entry, 'a map with a manifest')
    return []
  }
  const around = {
    policy: reader.word(entry['policy'], `${field}.policy`, POLICIES, 'manage'),
    annotateBeforeCreate: reader.textMap(entry['annotateBeforeCreate'], `${field}.annotateBeforeCreate`),
    annotateBeforeDelete: reader.textMap(entry['annotateBeforeDelete'], `${field}.annotateBeforeDelete`),
    patchAfterDeployment: reader.map(entry['patchAfterDeployment'], `${field}.patchAfterDeployment`),
    patchBeforeDelete: reader.map(entry['patchBeforeDelete'], `${field}.patchBeforeDelete`),
    recreate: reader.word(entry['recreate'], `${field}.recreate`, RECREATIONS, undefined),
  }
  return readObjects(reader, entry['manifest'], `${field}.manifest`).map(({ object, field: at }) => ({
    field: at,
    manifest: { object, ...around },
  }))
}

// Two different manifests of one object would overwrite each other forever. Equal manifests count once.
function withoutRepetitions(reader: ConfigReader, located: readonly Located[]): readonly Manifest[] {
  const seen = new Map<string, Located>()
  for (const entry of located) {
    const { apiVersion, kind, metadata } = entry.manifest.object
    const key = resourceKey({ apiVersion, kind, ...metadata })
    const first = seen.get(key)
    if (first === undefined) seen.set(key, entry)
    else if (canonicalJson(first.manifest) !== canonicalJson(entry.manifest)) {
      const found = `a second manifest of ${describeObject({ apiVersion, kind, ...metadata })}, which is also in ${first.field}`
      reader.wrong(entry.field, undefined, 'one manifest per object', found)
    }
  }
  return [...seen.values()].map(({ manifest }) => manifest)
}
