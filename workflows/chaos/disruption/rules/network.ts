// Rules for spec.network. Source: spec/chaos.md 1.5.

import type { Problem } from '../../../kit/index.ts'
import {
  choiceProblems,
  fieldsOf,
  has,
  type JsonFields,
  listOf,
  rangeProblems,
  hasValue,
  formatValue,
  textOf,
} from '../../json-fields.ts'
import { HTTP_METHODS, MAX_FILTERS } from '../schema/network.ts'

const EFFECTS = ['drop', 'duplicate', 'corrupt', 'delay', 'bandwidthLimit']
const MIN_BANDWIDTH = 32
const [MOST_METHODS, MOST_PATHS, LONGEST_PATH] = [9, 20, 90]

export function networkProblems(network: JsonFields, at: string): readonly Problem[] {
  const isIdle = EFFECTS.every((name) => !has(network, name) || network[name] === 0)
  return [
    ...(isIdle ? [{ field: at, found: 'no effect', expected: `at least one of ${EFFECTS.join(', ')}` }] : []),
    ...rangeProblems(network, at, { drop: SHARE, duplicate: SHARE, corrupt: SHARE, delay: [0, 60_000] }),
    ...rangeProblems(network, at, { delayJitter: SHARE, bandwidthLimit: [0, Infinity] }),
    ...bandwidthProblems(network['bandwidthLimit'], `${at}.bandwidthLimit`),
    ...['hosts', 'allowedHosts'].flatMap((list) =>
      listOf(network[list]).flatMap((host, index) => hostProblems(fieldsOf(host), `${at}.${list}[${index}]`)),
    ),
    ...listOf(network['services']).flatMap((one, index) => serviceProblems(fieldsOf(one), `${at}.services[${index}]`)),
    ...cloudProblems(fieldsOf(network['cloud']), `${at}.cloud`),
    ...httpProblems(fieldsOf(network['http']), `${at}.http`),
    ...filterProblems(network, at, 0),
  ]
}

/**
 * Warnings for fields that chaos-controller accepts and Pawl's injectors do not support. @param at the path of the
 * spec.
 */
export function networkWarnings(spec: unknown, at: string): readonly string[] {
  const http = fieldsOf(fieldsOf(fieldsOf(spec)['network'])['http'])
  if (listOf(http['methods']).length + listOf(http['paths']).length === 0) return []
  return [
    `${at}.network.http: Pawl cannot select requests by HTTP method or path, so the network disruption is never injected`,
  ]
}

/**
 * The minimum number of filters that the spec needs. @param cloudRanges the number of address ranges of its cloud
 * services.
 */
export function filterEstimate(network: JsonFields, cloudRanges: number): number {
  return listOf(network['hosts']).length + 2 * listOf(network['services']).length + cloudRanges
}

/** Reports a spec that needs too many filters. */
export function filterProblems(network: JsonFields, at: string, cloudRanges: number): readonly Problem[] {
  const count = filterEstimate(network, cloudRanges)
  if (count <= MAX_FILTERS) return []
  return [
    {
      field: at,
      found: `hosts, Services and services of clouds with ${count} addresses`,
      expected: `at most ${MAX_FILTERS}`,
    },
  ]
}

const SHARE = [0, 100] as const

function bandwidthProblems(limit: unknown, field: string): readonly Problem[] {
  if (typeof limit !== 'number' || limit <= 0 || limit >= MIN_BANDWIDTH) return []
  return [
    { field, found: formatValue(limit), expected: `0 for no limit, or at least ${MIN_BANDWIDTH} bytes per second` },
  ]
}

function hostProblems(host: JsonFields, at: string): readonly Problem[] {
  const hasPort = has(host, 'port') && host['port'] !== 0
  return [
    ...(hasValue(host, 'flow') && !hasValue(host, 'host') && !hasPort
      ? [{ field: at, found: 'flow without host and port', expected: 'a host or a port in addition to flow' }]
      : []),
    ...(/[;\s]/.test(textOf(host['host']))
      ? [{ field: `${at}.host`, found: formatValue(host['host']), expected: 'a hostname, an address or 10.0.0.0/8' }]
      : []),
    ...rangeProblems(host, at, { port: [0, 65_535], percentage: [1, 100] }),
    ...packetProblems(host, at),
    ...choiceProblems(host, at, { dnsResolver: ['pod', 'node', 'pod-fallback-node', 'node-fallback-pod'] }),
  ]
}

function packetProblems(fields: JsonFields, at: string): readonly Problem[] {
  const connState = textOf(fields['connState']).toLowerCase()
  return [
    ...choiceProblems(fields, at, { protocol: ['tcp', 'udp'], flow: ['egress', 'ingress'] }),
    ...choiceProblems({ connState }, at, { connState: ['new', 'est'] }),
  ]
}

function serviceProblems(service: JsonFields, at: string): readonly Problem[] {
  const lacking = ['name', 'namespace'].filter((name) => !/^[^;\s]+$/.test(textOf(service[name])))
  return [
    ...lacking.map((name) => ({
      field: `${at}.${name}`,
      found: formatValue(service[name]),
      expected: `the ${name} of a Service`,
    })),
    ...rangeProblems(service, at, { percentage: [1, 100] }),
    ...listOf(service['ports']).flatMap((one, index) => {
      const [port, field] = [fieldsOf(one), `${at}.ports[${index}]`]
      const hasNumber = has(port, 'port') && port['port'] !== 0
      return [
        ...(hasNumber || hasValue(port, 'name') ? [] : [{ field, found: 'neither', expected: 'a port or its name' }]),
        ...rangeProblems(port, field, { port: [0, 65_535] }),
      ]
    }),
  ]
}

function cloudProblems(cloud: JsonFields, at: string): readonly Problem[] {
  return ['aws', 'gcp', 'datadog'].flatMap((name) =>
    listOf(cloud[name]).flatMap((one, index) => {
      const [entry, field] = [fieldsOf(one), `${at}.${name}[${index}]`]
      const lacks = !hasValue(entry, 'service')
      return [
        ...(lacks ? [{ field: `${field}.service`, found: 'nothing', expected: 'the name of a service' }] : []),
        ...packetProblems(entry, field),
      ]
    }),
  )
}

function httpProblems(http: JsonFields, at: string): readonly Problem[] {
  return [
    ...methodProblems(listOf(http['methods']), `${at}.methods`),
    ...pathProblems(listOf(http['paths']), `${at}.paths`),
  ]
}

function methodProblems(methods: readonly unknown[], at: string): readonly Problem[] {
  const names = methods.map((method) => textOf(method).toUpperCase())
  const known = new Set<string>(HTTP_METHODS)
  return [
    ...(names.length > MOST_METHODS ? [tooMany(names.length, MOST_METHODS, at)] : []),
    ...names.flatMap((name, index) => {
      const field = `${at}[${index}]`
      if (!known.has(name))
        return [{ field, found: formatValue(methods[index]), expected: `one of ${HTTP_METHODS.join(', ')}` }]
      return names.indexOf(name) < index ? [{ field, found: `${name} again`, expected: 'each method once' }] : []
    }),
  ]
}

function pathProblems(paths: readonly unknown[], at: string): readonly Problem[] {
  return [
    ...(paths.length > MOST_PATHS ? [tooMany(paths.length, MOST_PATHS, at)] : []),
    ...(paths.length > 1 && paths.includes('/') ? [{ field: at, found: '/ and others', expected: '/ alone' }] : []),
    ...paths.flatMap((path, index) => {
      const isPath = typeof path === 'string' && path.length <= LONGEST_PATH && /^\/\S*$/.test(path)
      const expected = `a path from / on, without spaces, of at most ${LONGEST_PATH} characters`
      return isPath ? [] : [{ field: `${at}[${index}]`, found: formatValue(path), expected }]
    }),
  ]
}

function tooMany(count: number, most: number, field: string): Problem {
  return { field, found: `${count}`, expected: `at most ${most}` }
}
