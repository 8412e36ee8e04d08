// Specs with the fields that manifests of the Go operator use, for tests. Source: spec/foundationdb.md 1.1, 1.5, 8.3.

const GENERAL = {
  customParameters: ['knob_disable_posix_kernel_aio=1'],
  volumeClaimTemplate: { spec: { resources: { requests: { storage: '16G' } } } },
  podTemplate: {
    spec: {
      securityContext: { runAsUser: 4059, runAsGroup: 4059, fsGroup: 4059 },
      containers: [
        {
          name: 'foundationdb',
          resources: { requests: { cpu: '100m', memory: '128Mi' } },
          securityContext: { runAsUser: 0 },
        },
        { name: 'foundationdb-kubernetes-sidecar', resources: { limits: { cpu: '100m' }, requests: { cpu: '100m' } } },
      ],
      initContainers: [{ name: 'foundationdb-kubernetes-init', resources: { requests: { cpu: '100m' } } }],
    },
  },
}

export const CLUSTERS = [
  {
    name: 'local',
    spec: {
      version: '7.1.26',
      faultDomain: { key: 'foundationdb.org/none' },
      labels: {
        filterOnOwnerReference: false,
        matchLabels: { 'foundationdb.org/fdb-cluster-name': 'one' },
        processClassLabels: ['foundationdb.org/fdb-process-class'],
        processGroupIDLabels: ['foundationdb.org/fdb-process-group-id'],
      },
      minimumUptimeSecondsForBounce: 60,
      processCounts: { cluster_controller: 1, stateless: -1 },
      processes: { general: GENERAL },
      routing: { headlessService: true, defineDNSLocalityFields: true },
      sidecarContainer: { enableLivenessProbe: true, enableReadinessProbe: false },
      useExplicitListenAddress: true,
      automationOptions: { replacements: { enabled: true }, ignorePendingPodsDuration: 300000000000 },
    },
  },
  {
    name: 'TLS and unified images',
    spec: {
      version: '7.3.43',
      imageType: 'unified',
      databaseConfiguration: {
        redundancy_mode: 'triple',
        storage_engine: 'ssd-redwood-1',
        perpetual_storage_wiggle: 1,
      },
      mainContainer: {
        enableTls: true,
        imageConfigs: [{ baseImage: 'registry.example.com/fdb', version: '7.3.43', tag: 'x' }],
      },
      sidecarContainer: { enableTls: true, peerVerificationRules: 'S.CN=example' },
      trustedCAs: ['-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----'],
      processes: { general: GENERAL, storage: { customParameters: ['memory=8GiB'] } },
      automationOptions: {
        removalMode: 'Zone',
        replacements: {
          maxFaultDomainsWithTaintedProcessGroups: 2,
          taintReplacementOptions: [{ key: '*', durationInSeconds: 60 }],
        },
        maintenanceModeOptions: { UseMaintenanceModeChecker: true },
      },
      buggify: { crashLoopContainers: [{ containerName: 'foundationdb', targets: ['storage-1'] }] },
    },
  },
  {
    name: 'several data centres',
    spec: {
      version: '7.1.26',
      processGroupIDPrefix: 'dc1',
      dataCenter: 'dc1',
      seedConnectionString: 'one:abc@10.1.1.1:4501',
      lockOptions: { disableLocks: false, denyList: [{ id: 'dc2', allow: true }] },
      faultDomain: { key: 'foundationdb.org/kubernetes-cluster', value: 'dc1', zoneIndex: 0, zoneCount: 3 },
      databaseConfiguration: {
        redundancy_mode: 'double',
        usable_regions: 2,
        regions: [
          {
            datacenters: [
              { id: 'dc1', priority: 1 },
              { id: 'dc2', priority: 1, satellite: 1 },
            ],
            satellite_logs: 2,
          },
          { datacenters: [{ id: 'dc3', priority: 0 }] },
        ],
      },
      coordinatorSelection: [{ processClass: 'log', priority: 0 }],
    },
  },
  {
    name: 'names of earlier versions',
    spec: {
      version: '7.1.26',
      instanceIDPrefix: 'dc1',
      instancesToRemove: ['storage-1'],
      services: { headless: true, publicIPSource: 'service' },
      automationOptions: { deletePods: false },
      updatePodsByReplacement: true,
      processes: { general: { volumeClaim: GENERAL.volumeClaimTemplate } },
    },
  },
]

export const BACKUPS = [
  {
    name: 'object store',
    spec: {
      version: '7.1.26',
      clusterName: 'one',
      backupState: 'Running',
      snapshotPeriodSeconds: 3600,
      blobStoreConfiguration: { accountName: 'minio@minio-service:9000', urlParameters: ['secure_connection=0'] },
      backupDeploymentMetadata: { labels: { team: 'a' } },
      podTemplateSpec: { spec: { containers: [{ name: 'foundationdb', env: [{ name: 'A', value: '1' }] }] } },
      customParameters: ['knob_http_verbose_level=3'],
    },
  },
  {
    name: 'all settings',
    spec: {
      version: '7.3.43',
      clusterName: 'one',
      agentCount: 0,
      backupType: 'partitioned_log',
      backupMode: 'oneTime',
      deletionPolicy: 'cleanup',
      tag: 'nightly',
      imageType: 'unified',
      encryptionKeyPath: '/keys/backup',
      blobStoreConfiguration: { accountName: 'a@b', bucket: 'abc', backupName: 'x' },
    },
  },
]
