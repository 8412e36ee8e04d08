// Reads a file of CustomResourceDefinitions: YAML or JSON, one or more documents, also lists of `kubectl get crd -o yaml`. It ignores objects of other kinds,
// because releases bundle definitions with Deployments and roles.

import { FILE_LIMITS, parseYamlDocuments, YamlError, type YamlPlace } from '../../../activities/yaml/read-yaml.ts'
import { found, type Path, type Problem, type Report } from './problems.ts'
import { isFields } from '../../../workflows/kit/index.ts'

/** One version of one kind. */
export interface CrdVersion {
  readonly kind: string
  readonly group: string
  readonly version: string
  readonly isServed: boolean
  readonly isNamespaced: boolean
  /** Paths without a leading dot. */
  readonly selectableFields: readonly string[]
  /** The deprecation warning. Undefined: not deprecated. */
  readonly deprecated: string | undefined
  /** The unchecked openAPIV3Schema, and its path. */
  readonly schema: unknown
  readonly path: Path
  readonly report: Report
}

export interface CrdFile {
  /** In the order of the file. */
  readonly versions: readonly CrdVersion[]
  /** Grows while the schemas of the versions are read. */
  readonly problems: Problem[]
}

type Fields = Readonly<Record<string, unknown>>

export function readCrdFile(text: string): CrdFile {
  const problems: Problem[] = []
  const kinds: unknown[] = []
  const versions = parseYamlDocuments(text, { limits: FILE_LIMITS }).flatMap((document, index) => {
    const reportAt = ({ line, column }: YamlPlace, path: Path, message: string) => {
      problems.push({ line, column, document: index + 1, path, message })
    }
    if (document instanceof YamlError) {
      reportAt(document, [], document.message)
      return []
    }
    const report: Report = (path, message) => {
      reportAt(document.placeOf(path), path, message)
    }
    return objectsOf(document.value).flatMap(({ object, path }) => {
      kinds.push(object['kind'])
      return isCrd(object, path, report) ? crdVersions(object, path, report) : []
    })
  })
  if (versions.length === 0 && problems.length === 0) {
    const names = [...new Set(kinds.filter((kind) => typeof kind === 'string'))]
    problems.push({ message: `found ${names.join(', ') || 'no objects'}; expected a CustomResourceDefinition` })
  }
  return { versions, problems }
}

function objectsOf(value: unknown): { readonly object: Fields; readonly path: Path }[] {
  if (!isFields(value)) return []
  const items: unknown = value['items']
  const isList = typeof value['kind'] === 'string' && value['kind'].endsWith('List') && Array.isArray(items)
  if (!isList) return [{ object: value, path: [] }]
  return items.flatMap((object: unknown, index) => (isFields(object) ? [{ object, path: ['items', index] }] : []))
}

const API_VERSION = 'apiextensions.k8s.io/v1'

function isCrd({ apiVersion, kind }: Fields, path: Path, report: Report): boolean {
  if (kind !== 'CustomResourceDefinition') return false
  if (apiVersion === API_VERSION) return true
  report([...path, 'apiVersion'], `${found(apiVersion)}; expected "${API_VERSION}"`)
  return false
}

function crdVersions(crd: Fields, path: Path, report: Report): CrdVersion[] {
  const spec = fieldsAt(crd['spec'])
  const word = (value: unknown, at: readonly string[], form: RegExp) =>
    wordOf(value, form, [...path, 'spec', ...at], report)
  const kind = word(fieldsAt(spec['names'])['kind'], ['names', 'kind'], KIND)
  const group = word(spec['group'], ['group'], GROUP)
  const { scope, versions } = spec
  if (scope !== 'Namespaced' && scope !== 'Cluster') {
    report([...path, 'spec', 'scope'], `${found(scope)}; expected "Namespaced" or "Cluster"`)
  }
  const at = [...path, 'spec', 'versions']
  if (!Array.isArray(versions) || versions.length === 0) {
    report(at, `${Array.isArray(versions) ? 'found an empty list' : found(versions)}; expected a list of versions`)
    return []
  }
  return versions.map((version: unknown, index) => ({
    kind,
    group,
    isNamespaced: scope !== 'Cluster',
    report,
    ...readVersion(fieldsAt(version), [...at, index], report),
  }))
}

function readVersion(
  version: Fields,
  path: Path,
  report: Report,
): Pick<CrdVersion, 'version' | 'isServed' | 'selectableFields' | 'deprecated' | 'schema' | 'path'> {
  const { deprecated, deprecationWarning, served, selectableFields } = version
  const warning = typeof deprecationWarning === 'string' ? deprecationWarning : 'This version is deprecated.'
  return {
    version: wordOf(version['name'], VERSION, [...path, 'name'], report),
    isServed: served !== false,
    selectableFields: (Array.isArray(selectableFields) ? selectableFields : []).flatMap((field: unknown) => {
      const at = fieldsAt(field)['jsonPath']
      return typeof at === 'string' ? [at.replace(/^\./, '')] : []
    }),
    deprecated: deprecated === true ? warning : undefined,
    schema: fieldsAt(version['schema'])['openAPIV3Schema'],
    path: [...path, 'schema', 'openAPIV3Schema'],
  }
}

// As strict as the API server, so the names need no escapes in a string literal.
const KIND = /^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?$/
const GROUP = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/
const VERSION = /^[a-z]([a-z0-9-]*[a-z0-9])?$/

function wordOf(value: unknown, form: RegExp, path: Path, report: Report): string {
  if (typeof value === 'string' && form.test(value)) return value
  report(path, `${found(value)}; expected a string that matches ${form.source}`)
  return ''
}

function fieldsAt(value: unknown): Fields {
  return isFields(value) ? value : {}
}
