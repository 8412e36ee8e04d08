// The containers of a Pod: FoundationDB and its sidecar, for both image types. Source: spec/foundationdb.md 4.14.

import { type JsonFields, textOf } from '../../kit/index.ts'
import { INIT_CONTAINER, MAIN_CONTAINER, SIDECAR_CONTAINER, SIDECAR_PORT } from '../contract.ts'
import { type ClusterSettings, serversPerPod } from '../model/cluster-settings.ts'
import { mainImage, sidecarImage } from './images.ts'
import type { ProcessGroup } from './object-metadata.ts'
import { substitutedVariables, substitutionEnvironment } from './pod-environment.ts'
import { completedContainer, containerNamed } from './pod-template.ts'

export interface ContainerInput {
  readonly settings: ClusterSettings
  readonly group: ProcessGroup
  readonly version: string
  /** The Pod's spec in the template of its class. */
  readonly template: JsonFields
}

const MAIN_REQUESTS = { cpu: '1', memory: '8Gi' }
const SIDECAR_REQUESTS = { cpu: '100m', memory: '256Mi' }
const DYNAMIC_CONF = '/var/dynamic-conf'

const MOUNTS = {
  data: { name: 'data', mountPath: '/var/fdb/data' },
  dynamicConf: { name: 'dynamic-conf', mountPath: DYNAMIC_CONF },
  outputFiles: { name: 'dynamic-conf', mountPath: '/var/output-files' },
  inputFiles: { name: 'config-map', mountPath: '/var/input-files' },
  configMap: { name: 'config-map', mountPath: DYNAMIC_CONF },
  sharedBinaries: { name: 'shared-binaries', mountPath: '/var/fdb/shared-binaries' },
  logs: { name: 'fdb-trace-logs', mountPath: '/var/log/fdb-trace-logs' },
} as const

export function mainContainer(input: ContainerInput): JsonFields {
  const { settings, group, version } = input
  const { imageType, mainContainer: container } = settings
  const template = containerNamed(input.template['containers'], MAIN_CONTAINER)
  const image = mainImage({ version, imageType, container, templateImage: textOf(template['image']) })
  const env = [
    { name: 'FDB_CLUSTER_FILE', value: `${DYNAMIC_CONF}/fdb.cluster` },
    ...(hasCertificates(settings) ? [{ name: 'FDB_TLS_CA_FILE', value: `${DYNAMIC_CONF}/ca.pem` }] : []),
  ]
  if (imageType === 'split')
    return completedContainer(template, {
      image,
      env,
      requests: MAIN_REQUESTS,
      command: ['sh', '-c', crashes(input, MAIN_CONTAINER) ? 'crash-loop' : monitorCommand(settings.logGroup)],
      volumeMounts: [MOUNTS.data, MOUNTS.dynamicConf, MOUNTS.logs],
    })
  const servers = serversPerPod(settings, group.processClass)
  return completedContainer(template, {
    image,
    requests: MAIN_REQUESTS,
    env: [...env, ...substitutionEnvironment(settings, group)],
    ...(crashes(input, MAIN_CONTAINER) && { command: ['crash-loop'] }),
    args: [
      ...['--input-dir', DYNAMIC_CONF, '--log-path', `${MOUNTS.logs.mountPath}/monitor.log`],
      ...(servers > 1 ? ['--process-count', String(servers)] : []),
    ],
    volumeMounts: [MOUNTS.data, MOUNTS.configMap, MOUNTS.sharedBinaries, MOUNTS.logs],
  })
}

export function sidecarContainer(input: ContainerInput): JsonFields {
  const { settings, version, group } = input
  const { imageType, sidecarContainer: container } = settings
  const template = containerNamed(input.template['containers'], SIDECAR_CONTAINER)
  const image = sidecarImage({ version, imageType, container, templateImage: textOf(template['image']) })
  const isTls = container.enableTls ?? false
  const crash = crashes(input, SIDECAR_CONTAINER) ? { command: ['crash-loop'] } : {}
  if (imageType === 'unified')
    return completedContainer(template, {
      image,
      ...crash,
      args: ['--mode', 'sidecar', '--main-container-version', version],
      env: [],
      requests: SIDECAR_REQUESTS,
      volumeMounts: [MOUNTS.sharedBinaries],
    })
  return completedContainer(template, {
    image,
    ...crash,
    args: [...sidecarArgs(settings, version), ...(isTls ? ['--tls'] : [])],
    env: [...tlsEnvironment(settings), ...substitutionEnvironment(settings, group)],
    requests: SIDECAR_REQUESTS,
    volumeMounts: [MOUNTS.inputFiles, MOUNTS.outputFiles],
    livenessProbe:
      (container.enableLivenessProbe ?? true)
        ? { tcpSocket: { port: SIDECAR_PORT }, periodSeconds: 30, failureThreshold: 5, timeoutSeconds: 1 }
        : undefined,
    readinessProbe: (container.enableReadinessProbe ?? false) ? { tcpSocket: { port: SIDECAR_PORT } } : undefined,
  })
}

/** Copies the files before the main container starts. Only image type split has it. */
export function initContainer(input: ContainerInput): JsonFields {
  const { settings, version, group } = input
  const { sidecarContainer: container } = settings
  const template = containerNamed(input.template['initContainers'], INIT_CONTAINER)
  const image = sidecarImage({ version, imageType: 'split', container, templateImage: textOf(template['image']) })
  return completedContainer(template, {
    image,
    args: [...sidecarArgs(settings, version), '--init-mode'],
    env: substitutionEnvironment(settings, group),
    requests: SIDECAR_REQUESTS,
    volumeMounts: [MOUNTS.inputFiles, MOUNTS.outputFiles],
  })
}

/** `$(date)` is computed by the shell in the container; the log group has been validated. */
function monitorCommand(logGroup: string): string {
  const log = `/var/log/fdb-trace-logs/fdbmonitor-$(date '+%Y-%m-%d').log`
  const files = `--conffile ${DYNAMIC_CONF}/fdbmonitor.conf --lockfile ${DYNAMIC_CONF}/fdbmonitor.lockfile`
  return `fdbmonitor ${files} --loggroup ${logGroup} >> ${log} 2>&1`
}

function sidecarArgs(settings: ClusterSettings, version: string): readonly string[] {
  const { podIPFamily } = settings.routing
  return [
    ...['--copy-file', 'fdb.cluster'],
    ...(hasCertificates(settings) ? ['--copy-file', 'ca.pem'] : []),
    ...['--input-monitor-conf', 'fdbmonitor.conf', '--copy-binary', 'fdbserver', '--copy-binary', 'fdbcli'],
    ...['--main-container-version', version],
    ...(podIPFamily === undefined ? [] : ['--public-ip-family', String(podIPFamily)]),
    ...substitutedVariables(settings).flatMap((name) => ['--substitute-variable', name]),
  ]
}

function tlsEnvironment(settings: ClusterSettings): readonly JsonFields[] {
  const { peerVerificationRules: rules = '' } = settings.sidecarContainer
  return [
    ...(hasCertificates(settings) ? [{ name: 'FDB_TLS_CA_FILE', value: '/var/input-files/ca.pem' }] : []),
    ...(rules === '' ? [] : [{ name: 'FDB_TLS_VERIFY_PEERS', value: rules }]),
  ]
}

function hasCertificates({ spec: { trustedCAs = [] } }: ClusterSettings): boolean {
  return trustedCAs.length > 0
}

/** Source: spec/foundationdb.md 2.7. */
function crashes({ settings, group }: ContainerInput, container: string): boolean {
  const { crashLoop = [], crashLoopContainers = [] } = settings.spec.buggify ?? {}
  const targets = crashLoopContainers.find(({ containerName }) => containerName === container)?.targets ?? []
  const all = container === MAIN_CONTAINER ? [...crashLoop, ...targets] : targets
  return all.includes('*') || all.includes(group.processGroupID)
}
