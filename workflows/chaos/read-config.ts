// Parses chaos-controller's configuration file. Pure; activities/chaos/ reads the file. Source: spec/chaos.md 2.14.
//
// R1. A field of the wrong type is reported with its path, the actual and the expected value. Unknown fields are
//   ignored, because the file also belongs to another program.
// R2. Values that chaos-controller's chart renders are accepted: `imagePullSecrets: false` means none, and allowed
//   hosts are texts.
// R3. Clouds are configured in `controller.cloudProviders`; the older `cloudProviders` is a fallback. `handler.cpu` and
//   `handler.memory` fall back to `handler.resources` of the chart's values.

import { allowedHostIn, EXPECTED_HOST } from './allowed-host.ts'
import { CLOUDS, extraRanges } from './cloud.ts'
import { CHAOS_NAMESPACE, type ChaosConfig, DEFAULT_CONFIG, isNamespaceName } from './config.ts'
import { EXPECTED_URL, isNothing, type Section, sectionIn, urlProblem } from './config-section.ts'
import type { Problem } from '../kit/index.ts'
import { METRICS_SINKS, type MetricsSink } from './metrics.ts'

/** @param document the parsed file; undefined for an empty one. */
export function readChaosConfig(document: unknown): {
  readonly config: ChaosConfig
  readonly problems: readonly Problem[]
} {
  const problems: Problem[] = []
  const root = sectionIn(problems, '', isNothing(document) ? {} : document)
  const controller = root.section('controller')
  const config: ChaosConfig = {
    controller: controllerOf(controller, problems),
    injector: injectorOf(root.section('injector')),
    handler: handlerOf(root.section('handler')),
    // R3
    cloudProviders: cloudProvidersOf(
      controller.section('cloudProviders').withFallback(root.section('cloudProviders')),
      problems,
    ),
  }
  if (!isNamespaceName(config.injector.chaosNamespace))
    problems.push({
      field: 'injector.chaosNamespace',
      found: JSON.stringify(config.injector.chaosNamespace),
      expected: `the name of a namespace, such as ${CHAOS_NAMESPACE}`,
    })
  return { config, problems }
}

function controllerOf(section: Section, problems: Problem[]): ChaosConfig['controller'] {
  const usual = DEFAULT_CONFIG.controller
  const ownNodes = section.textOrTexts('ownNode')
  const ms = (field: DurationField) => section.duration(field, usual[`${field}Ms`])
  return {
    deleteOnly: section.flag('deleteOnly', usual.deleteOnly),
    enableSafeguards: section.flag('enableSafeguards', usual.enableSafeguards),
    enableObserver: section.flag('enableObserver', usual.enableObserver),
    expiredDisruptionGCDelayMs: off(section.duration('expiredDisruptionGCDelay', -1)),
    defaultDurationMs: ms('defaultDuration'),
    maxDurationMs: positive(section.duration('maxDuration', 0)),
    finalizerDeletionDelayMs: ms('finalizerDeletionDelay'),
    disruptionDeletionTimeoutMs: ms('disruptionDeletionTimeout'),
    defaultCronDelayedStartToleranceMs: ms('defaultCronDelayedStartTolerance'),
    minimumCronFrequencyMs: ms('minimumCronFrequency'),
    targetResourceMissingThresholdMs: ms('targetResourceMissingThreshold'),
    disabledDisruptions: section.texts('disabledDisruptions'),
    disruptionCronEnabled: section.flag('disruptionCronEnabled', true),
    disruptionRolloutEnabled: section.flag('disruptionRolloutEnabled', true),
    metricsSink: metricsSinkOf(section.text('metricsSink', usual.metricsSink), problems),
    ...(ownNodes.length > 0 && { ownNodes }),
    safeMode: safeModeOf(section.section('safeMode')),
  }
}

function metricsSinkOf(text: string, problems: Problem[]): MetricsSink {
  const sink = METRICS_SINKS.find((one) => one === text)
  if (sink !== undefined) return sink
  problems.push({ field: 'controller.metricsSink', found: JSON.stringify(text), expected: METRICS_SINKS.join(' or ') })
  return DEFAULT_CONFIG.controller.metricsSink
}

type DurationField =
  | 'defaultDuration'
  | 'finalizerDeletionDelay'
  | 'disruptionDeletionTimeout'
  | 'defaultCronDelayedStartTolerance'
  | 'minimumCronFrequency'
  | 'targetResourceMissingThreshold'

function safeModeOf(section: Section): ChaosConfig['controller']['safeMode'] {
  const usual = DEFAULT_CONFIG.controller.safeMode
  return {
    enable: section.flag('enable', usual.enable),
    namespaceThreshold: section.number('namespaceThreshold', usual.namespaceThreshold),
    clusterThreshold: section.number('clusterThreshold', usual.clusterThreshold),
    allowNodeFailure: section.flag('allowNodeFailure', usual.allowNodeFailure),
    allowNodeLevel: section.flag('allowNodeLevel', usual.allowNodeLevel),
    environment: section.text('environment', usual.environment),
    permittedUserGroups: section.texts('permittedUserGroups'),
  }
}

function injectorOf(section: Section): ChaosConfig['injector'] {
  const usual = DEFAULT_CONFIG.injector
  const network = section.section('networkDisruption')
  // R2
  const imagePullSecret = section.text('imagePullSecrets', '', false)
  return {
    image: section.text('image', usual.image),
    ...(imagePullSecret !== '' && { imagePullSecret }),
    annotations: section.textMap('annotations'),
    labels: section.textMap('labels'),
    serviceAccount: section.text('serviceAccount', usual.serviceAccount),
    chaosNamespace: section.text('chaosNamespace', usual.chaosNamespace),
    logLevel: section.text('logLevel', usual.logLevel),
    tolerations: section.records('tolerations'),
    allowedHosts: network.entries('allowedHosts', allowedHostIn, EXPECTED_HOST),
    hostResolveIntervalMs: network.duration('hostResolveInterval', usual.hostResolveIntervalMs),
    dnsPodResolvConf: network.text('dnsPodResolvConf', usual.dnsPodResolvConf),
    dnsNodeResolvConf: network.text('dnsNodeResolvConf', usual.dnsNodeResolvConf),
  }
}

function handlerOf(section: Section): ChaosConfig['handler'] {
  const usual = DEFAULT_CONFIG.handler
  // R3
  const resources = section.withFallback(section.section('resources'))
  return {
    enabled: section.flag('enabled', usual.enabled),
    image: section.text('image', usual.image),
    timeoutMs: section.duration('timeout', usual.timeoutMs),
    maxTimeoutMs: section.duration('maxTimeout', usual.maxTimeoutMs),
    cpu: resources.quantity('cpu', usual.cpu),
    memory: resources.quantity('memory', usual.memory),
  }
}

function cloudProvidersOf(section: Section, problems: Problem[]): ChaosConfig['cloudProviders'] {
  const usual = DEFAULT_CONFIG.cloudProviders
  const isOff = section.flag('disableAll', false)
  const urls = CLOUDS.flatMap((cloud) => {
    const own = section.section(cloud)
    const url = own.text('ipRangesURL', '') || (usual.urls[cloud] ?? '')
    if (isOff || !own.flag('enabled', true)) return []
    const found = urlProblem(url)
    if (found === undefined) return [[cloud, url] as const]
    problems.push({ field: own.pathOf('ipRangesURL'), found, expected: EXPECTED_URL })
    return []
  })
  const extra = CLOUDS.flatMap((cloud) => {
    const reads = (one: unknown) => (typeof one === 'string' ? extraRanges.parse(one) : undefined)
    const found = section.section(cloud).entries('extraIpRanges', reads, extraRanges.expected)
    return found.length > 0 ? [[cloud, found] as const] : []
  })
  return {
    pullIntervalMs: section.duration('pullInterval', usual.pullIntervalMs),
    urls: Object.fromEntries(urls),
    extraRanges: Object.fromEntries(extra),
  }
}

function off(ms: number): number | undefined {
  return ms < 0 ? undefined : ms
}

function positive(ms: number): number | undefined {
  return ms > 0 ? ms : undefined
}
