// Describes the inputs of an Installation's jobs for the command line: the copies of its imports, which have the job that wrote them, their source,
// and the previous value (activities/landscaper/installation/import-copies.ts). Pure.
//
//   I1. Only values from ConfigMaps are returned: others may be secrets.

import {
  annotation,
  fieldsOf,
  type InputSource,
  isFields,
  type JobInputs,
  label,
  listOf,
  type Projection,
  textAt,
  textOf,
  valueAt,
  type WatchedKind,
} from '../../kit/index.ts'
import {
  JOB_ID_LABEL,
  KEY_LABEL,
  PREVIOUS_VALUE_ANNOTATION,
  SOURCE_TYPE_LABEL,
  VALUE_SOURCE_ANNOTATION,
} from '../contract.ts'
import { dataObjectKind } from '../data-object/kind.ts'
import { targetKind } from '../target/kind.ts'

export const installationInputs: JobInputs = {
  noun: 'import',
  kinds: [dataObjectKind, targetKind],
  inputOf(projection: Projection) {
    const [name, jobID] = [textAt(projection, label(KEY_LABEL)), textAt(projection, label(JOB_ID_LABEL))]
    const isCopy = textAt(projection, label(SOURCE_TYPE_LABEL)) === 'import'
    return !isCopy || name === undefined || jobID === undefined ? undefined : { name, jobID }
  },
  valueOf(object: object) {
    const source = textAt(object, annotation(VALUE_SOURCE_ANNOTATION))
    if (source === undefined) return {}
    const [kind = '', name = '', key] = source.split('/')
    if (kind !== 'ConfigMap') return { source: sourceText(kind, name, key) }
    const previous = previousOf(textAt(object, annotation(PREVIOUS_VALUE_ANNOTATION)))
    const value = valueAt(object, ['data'])
    return { source: sourceText(kind, name, key), value, ...(previous !== undefined && { previous }) }
  },
  sourcesOf: importSources,
}

function importSources(installation: object): readonly InputSource[] {
  const imports = fieldsOf(fieldsOf(fieldsOf(installation)['spec'])['imports'])
  const data = listOf(imports['data']).map(fieldsOf)
  const targets = listOf(imports['targets']).map(fieldsOf)
  const from = (resource: Omit<InputSource, 'name' | 'object'>, name: unknown, ...objects: readonly unknown[]) =>
    objects.map(textOf).flatMap((object) => (object === '' ? [] : [{ ...resource, name: textOf(name), object }]))
  return [
    ...data.flatMap(({ name, dataRef, configMapRef, secretRef }) => [
      ...from(resourceOf(dataObjectKind), name, dataRef),
      ...from(CONFIG_MAP, name, fieldsOf(configMapRef)['name']),
      ...from(SECRET, name, fieldsOf(secretRef)['name']),
    ]),
    ...targets.flatMap(({ name, target, targets: list, targetMap }) =>
      from(resourceOf(targetKind), name, target, ...listOf(list), ...Object.values(fieldsOf(targetMap))),
    ),
  ]
}

const CONFIG_MAP = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
const SECRET = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }

function resourceOf({ apiVersion, kind, plural }: WatchedKind): Omit<InputSource, 'name' | 'object'> {
  return { apiVersion, kind, plural }
}

function sourceText(kind: string, name: string, key: string | undefined): string {
  if (kind === 'importDataMappings') return 'spec.importDataMappings'
  if (kind === 'default') return "the blueprint's default"
  return `${kind} ${name}${key === undefined ? '' : `, key ${key}`}`
}

/** Users can edit annotations. */
function previousOf(text: string | undefined): { readonly jobID: string; readonly value: unknown } | undefined {
  if (text === undefined || text === '') return undefined
  try {
    const found: unknown = JSON.parse(text)
    if (!isFields(found) || typeof found['jobID'] !== 'string') return undefined
    return { jobID: found['jobID'], value: found['value'] }
  } catch {
    return undefined
  }
}
