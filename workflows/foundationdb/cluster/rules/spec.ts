// The rules of a FoundationDBCluster that its schema cannot express. The webhook and every pass apply them. Source:
// spec/foundationdb.md 1.1, 1.4, 4.6, 4.11.

import { fieldsOf, type JsonFields, listOf, type Problem, textOf } from '../../../kit/index.ts'
import { GENERAL_CLASS, PROCESS_CLASSES } from '../../contract.ts'
import { containerSettingsProblems } from '../../model/container-rules.ts'
import { parameterProblems } from '../../model/parameter-rules.ts'
import { metadataProblems, podTemplateProblems, volumeClaimProblems } from '../../model/template-rules.ts'
import {
  ADDRESS,
  connectionStringProblems,
  DNS_NAME,
  FIELD_OR_VARIABLE,
  formatValue,
  LABEL_KEY,
  labelProblems,
  LOCALITY,
  textFieldProblems,
  textListProblems,
  VARIABLE,
  versionProblems,
  WORD,
} from '../../model/text-rules.ts'

/** @param object the cluster, also malformed. */
export function clusterProblems(object: unknown): readonly Problem[] {
  const { metadata, spec: given } = fieldsOf(object)
  const spec = fieldsOf(given)
  return [
    ...nameProblems(fieldsOf(metadata)['name'], spec),
    ...versionProblems(spec['version'], 'spec.version'),
    ...databaseProblems(spec),
    ...processProblems(spec['processes']),
    ...placeProblems(spec),
    ...containerSettingsProblems(spec['mainContainer'], 'spec.mainContainer'),
    ...containerSettingsProblems(spec['sidecarContainer'], 'spec.sidecarContainer'),
    ...labelsProblems(fieldsOf(spec['labels'])),
    ...metadataProblems(fieldsOf(spec['configMap'])['metadata'], 'spec.configMap.metadata'),
  ]
}

const MAX_LABEL_LENGTH = 63
/** `-<class>-<number>` of the longest Pod name. */
const LONGEST_POD_SUFFIX = '-cluster-controller-99999'.length
const SERVICE_NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/

/** The name is the value of a label; with Services it is part of DNS names. */
function nameProblems(value: unknown, spec: JsonFields): readonly Problem[] {
  const name = textOf(value)
  const problem = (expected: string) => [{ field: 'metadata.name', found: formatValue(value), expected }]
  const [routing, services] = [fieldsOf(spec['routing']), fieldsOf(spec['services'])]
  const hasServices = [
    routing['headlessService'] === true,
    services['headless'] === true,
    routing['useDNSInClusterFile'] === true,
    routing['defineDNSLocalityFields'] === true,
    [routing['publicIPSource'], services['publicIPSource']].includes('service'),
  ].some(Boolean)
  const most = hasServices ? MAX_LABEL_LENGTH - LONGEST_POD_SUFFIX : MAX_LABEL_LENGTH
  if (name.length > most) return problem(`at most ${most} characters`)
  return hasServices && !SERVICE_NAME.test(name)
    ? problem('the name of a Service: lower-case letters, digits and "-", with a letter first')
    : []
}

function databaseProblems(spec: JsonFields): readonly Problem[] {
  const configuration = fieldsOf(spec['databaseConfiguration'])
  const at = 'spec.databaseConfiguration'
  const partial = fieldsOf(spec['partialConnectionString'])
  return [
    ...textFieldProblems(configuration, at, { perpetual_storage_wiggle_locality: LOCALITY }),
    ...listOf(configuration['regions']).flatMap((region, index) =>
      regionProblems(fieldsOf(region), `${at}.regions[${index}]`),
    ),
    ...connectionStringProblems(spec['seedConnectionString'], 'spec.seedConnectionString'),
    ...textFieldProblems(partial, 'spec.partialConnectionString', { databaseName: WORD, generationID: WORD }),
    ...textListProblems(partial['coordinators'], 'spec.partialConnectionString.coordinators', ADDRESS),
  ]
}

/** Regions become JSON in the argument of `configure`. */
function regionProblems(region: JsonFields, at: string): readonly Problem[] {
  return [
    ...textFieldProblems(region, at, { satellite_redundancy_mode: WORD }),
    ...listOf(region['datacenters']).flatMap((one, index) =>
      textFieldProblems(one, `${at}.datacenters[${index}]`, { id: WORD }),
    ),
  ]
}

const CLASSES: ReadonlySet<string> = new Set([GENERAL_CLASS, ...PROCESS_CLASSES])

function processProblems(processes: unknown): readonly Problem[] {
  return Object.entries(fieldsOf(processes)).flatMap(([name, given]) => {
    const [settings, at] = [fieldsOf(given), `spec.processes.${name}`]
    const expected = `a process class: ${[...CLASSES].join(', ')}`
    return [
      ...(CLASSES.has(name) ? [] : [{ field: 'spec.processes', found: formatValue(name), expected }]),
      ...parameterProblems(settings['customParameters'], `${at}.customParameters`, 'server'),
      ...podTemplateProblems(settings['podTemplate'], `${at}.podTemplate`),
      ...volumeClaimProblems(settings['volumeClaimTemplate'], `${at}.volumeClaimTemplate`),
      ...volumeClaimProblems(settings['volumeClaim'], `${at}.volumeClaim`),
    ]
  })
}

/** Texts that become localities, lines of configurations, and words of the shell command of the main container. */
function placeProblems(spec: JsonFields): readonly Problem[] {
  return [
    ...textFieldProblems(spec, 'spec', { dataCenter: WORD, dataHall: WORD, logGroup: WORD }),
    ...textFieldProblems(spec['faultDomain'], 'spec.faultDomain', {
      key: LABEL_KEY,
      value: WORD,
      valueFrom: FIELD_OR_VARIABLE,
    }),
    ...textFieldProblems(spec['routing'], 'spec.routing', { dnsDomain: DNS_NAME }),
    ...textListProblems(spec['sidecarVariables'], 'spec.sidecarVariables', VARIABLE),
  ]
}

function labelsProblems(labels: JsonFields): readonly Problem[] {
  return [
    ...(['matchLabels', 'resourceLabels'] as const).flatMap((name) =>
      labelProblems(labels[name], `spec.labels.${name}`),
    ),
    ...(['processGroupIDLabels', 'processClassLabels'] as const).flatMap((name) =>
      textListProblems(labels[name], `spec.labels.${name}`, LABEL_KEY),
    ),
  ]
}
