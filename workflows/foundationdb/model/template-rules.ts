// Rules about templates of Pods and PersistentVolumeClaims, whose schema is open. The worker creates these objects, so a template
// must not give its author rights that the author may lack.
//
//   P1. A Pod stays in the namespace of its object, and uses neither files, processes nor the network of its Node.

import { fieldsOf, hasField, type JsonFields, listOf, type Problem } from '../../kit/index.ts'
import { INIT_CONTAINER, MAIN_CONTAINER, SIDECAR_CONTAINER } from '../contract.ts'
import { formatValue, IMAGE_NAME, labelProblems, namespaceProblems, textProblems } from './text-rules.ts'

const HOST_FIELDS = ['hostNetwork', 'hostPID', 'hostIPC'] as const
const CONTAINER_LISTS = ['containers', 'initContainers', 'ephemeralContainers'] as const
const OWN_CONTAINERS: ReadonlySet<unknown> = new Set([MAIN_CONTAINER, SIDECAR_CONTAINER, INIT_CONTAINER])

export function podTemplateProblems(template: unknown, at: string): readonly Problem[] {
  const { metadata, spec } = fieldsOf(template)
  return [
    ...shapeProblems(fieldsOf(template), at, { metadata: 'object', spec: 'object' }),
    ...metadataProblems(metadata, `${at}.metadata`),
    ...podProblems(fieldsOf(spec), `${at}.spec`),
  ]
}

export function volumeClaimProblems(template: unknown, at: string): readonly Problem[] {
  const { metadata, spec } = fieldsOf(template)
  const dataSource = fieldsOf(fieldsOf(spec)['dataSourceRef'])
  return [
    ...shapeProblems(fieldsOf(template), at, { metadata: 'object', spec: 'object' }),
    ...metadataProblems(metadata, `${at}.metadata`),
    ...namespaceProblems(dataSource, `${at}.spec.dataSourceRef`),
  ]
}

/** The metadata of an object that Pawl creates. */
export function metadataProblems(metadata: unknown, at: string): readonly Problem[] {
  const fields = fieldsOf(metadata)
  return [...namespaceProblems(fields, at), ...labelProblems(fields['labels'], `${at}.labels`)]
}

/** P1 */
function podProblems(spec: JsonFields, at: string): readonly Problem[] {
  return [
    ...shapeProblems(spec, at, { containers: 'list', initContainers: 'list', volumes: 'list', affinity: 'object' }),
    ...HOST_FIELDS.flatMap((name) =>
      spec[name] === true ? [{ field: `${at}.${name}`, found: 'true', expected: 'false or nothing' }] : [],
    ),
    ...listOf(spec['volumes']).flatMap((volume, index) =>
      hasField(fieldsOf(volume), 'hostPath')
        ? [{ field: `${at}.volumes[${index}]`, found: 'hostPath', expected: 'a volume that is no path of the Node' }]
        : [],
    ),
    ...CONTAINER_LISTS.flatMap((name) =>
      listOf(spec[name]).flatMap((one, index) => containerProblems(fieldsOf(one), `${at}.${name}[${index}]`)),
    ),
  ]
}

function containerProblems(container: JsonFields, at: string): readonly Problem[] {
  const { privileged } = fieldsOf(container['securityContext'])
  const hostPort = listOf(container['ports']).findIndex((port) => hasField(fieldsOf(port), 'hostPort'))
  const image = OWN_CONTAINERS.has(container['name']) ? imageProblems(container['image'], `${at}.image`) : []
  return [
    ...shapeProblems(container, at, { env: 'list', volumeMounts: 'list', resources: 'object' }),
    ...image,
    ...(privileged === true
      ? [{ field: `${at}.securityContext.privileged`, found: 'true', expected: 'false or nothing' }]
      : []),
    ...(hostPort < 0
      ? []
      : [{ field: `${at}.ports[${hostPort}].hostPort`, found: 'a port of the Node', expected: 'no hostPort' }]),
  ]
}

/** The tag depends on the version, so `imageConfigs` has it. */
function imageProblems(image: unknown, field: string): readonly Problem[] {
  const problems = textProblems(image, field, IMAGE_NAME)
  const hasTag = typeof image === 'string' && /:[^/]*$/.test(image)
  if (problems.length > 0 || !hasTag) return problems
  return [{ field, found: formatValue(image), expected: 'an image without a tag; set the tag in imageConfigs' }]
}

function shapeProblems(
  object: JsonFields,
  at: string,
  shapes: Readonly<Record<string, 'object' | 'list'>>,
): readonly Problem[] {
  return Object.entries(shapes).flatMap(([name, shape]) => {
    const value = object[name]
    if (value === undefined || value === null) return []
    const isValid = shape === 'list' ? Array.isArray(value) : typeof value === 'object' && !Array.isArray(value)
    return isValid
      ? []
      : [{ field: `${at}.${name}`, found: formatValue(value), expected: shape === 'list' ? 'a list' : 'an object' }]
  })
}
