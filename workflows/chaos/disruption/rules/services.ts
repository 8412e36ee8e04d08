// Rules for the Services of a network disruption. Pure: the caller has read the Services. Source: spec/chaos.md 1.5.

import type { Problem } from '../../../kit/index.ts'
import { fieldsOf, has, type JsonFields, listOf, formatValue, textOf } from '../../json-fields.ts'

/** A reference to a Service in the spec. */
export interface NamedService {
  /** The path of the reference: `spec.network.services[0]`. */
  readonly field: string
  readonly namespace: string
  readonly name: string
  readonly ports: readonly unknown[]
}

export function namedServices(spec: JsonFields): readonly NamedService[] {
  return listOf(fieldsOf(spec['network'])['services']).map((one, index) => {
    const { namespace, name, ports } = fieldsOf(one)
    const field = `spec.network.services[${index}]`
    return { field, namespace: textOf(namespace), name: textOf(name), ports: listOf(ports) }
  })
}

/** @param found the Service; undefined if it does not exist. */
export function serviceProblems({ field, namespace, name, ports }: NamedService, found: unknown): readonly Problem[] {
  const called = `Service ${namespace}/${name}`
  if (found === undefined) return [{ field, found: `no ${called}`, expected: 'an existing Service' }]
  const { type = 'ClusterIP', ports: own } = fieldsOf(fieldsOf(found)['spec'])
  if (type !== 'ClusterIP')
    return [{ field, found: `${called} of type ${formatValue(type)}`, expected: 'a Service of type ClusterIP' }]
  return ports.flatMap((port, index) => {
    const count = listOf(own).filter((one) => isPort(fieldsOf(port), fieldsOf(one))).length
    if (count === 1) return []
    const found = `${formatValue(port)}, which matches ${count} ports of ${called}`
    return [{ field: `${field}.ports[${index}]`, found, expected: 'the name and the number of one port' }]
  })
}

/** An absent field, an empty name and port 0 match all ports. */
function isPort(requested: JsonFields, own: JsonFields): boolean {
  const isNamed = !has(requested, 'name') || requested['name'] === '' || requested['name'] === own['name']
  const isNumbered = !has(requested, 'port') || requested['port'] === 0 || requested['port'] === own['port']
  return isNamed && isNumbered
}
