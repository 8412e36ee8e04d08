// What people deploy every day, in notations that servers rewrite.

export function service(spec: object, name: string, namespace: string) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { selector: { app: name }, ...spec },
  }
}

export function job(name: string, namespace: string, parallelism: number) {
  const containers = [{ name: 'main', image: 'example/app:1' }]
  const template = { metadata: { labels: { app: name } }, spec: { restartPolicy: 'Never', containers } }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace },
    spec: { parallelism, suspend: true, template },
  }
}

export function ordinary(namespace: string) {
  const metadata = (name: string) => ({ name, namespace })
  const resources = { requests: { cpu: '1000m', memory: '0.5Gi' }, limits: { cpu: 2 } }
  const containers = [
    { name: 'main', image: 'example/app:1', env: [{ name: 'EMPTY', value: '' }], resources, command: [] },
  ]
  const labels = { app: 'web' }
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata('ordinary'), data: { a: '1' } },
    { apiVersion: 'v1', kind: 'Secret', metadata: metadata('web'), stringData: { password: 'x' } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: metadata('web') },
    service({ ports: [{ port: 80, targetPort: 'http' }] }, 'web', namespace),
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { ...metadata('web'), creationTimestamp: null },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { serviceAccountName: 'web', containers } },
      },
      status: {},
    },
    { apiVersion: 'v1', kind: 'Pod', metadata: metadata('bare'), spec: { containers } },
    job('web', namespace, 1),
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: metadata('web'),
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1024Mi' } } },
    },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: metadata('web'), rules },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: metadata('web'),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'web' },
      subjects: [{ kind: 'ServiceAccount', name: 'web', namespace }],
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: metadata('web'),
      spec: { podSelector: {}, ingress: [], policyTypes: ['Ingress'] },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: metadata('web'),
      spec: {
        rules: [
          {
            host: 'a.example',
            http: {
              paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } }],
            },
          },
        ],
      },
    },
    {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: metadata('web'),
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'nobody' }, maxReplicas: 3 },
    },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: metadata('web'),
      spec: { minAvailable: '50%', selector: { matchLabels: { app: 'nobody' } } },
    },
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: metadata('web'),
      spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: job('web', namespace, 1).spec } },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: metadata('db'),
      spec: {
        replicas: 0,
        serviceName: 'web',
        selector: { matchLabels: { app: 'db' } },
        template: { metadata: { labels: { app: 'db' } }, spec: { containers } },
        volumeClaimTemplates: [
          {
            metadata: { name: 'd' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      },
    },
    { apiVersion: 'v1', kind: 'ResourceQuota', metadata: metadata('web'), spec: { hard: { 'count/secrets': '1k' } } },
  ]
}

/** A cluster-scoped kind, and objects of it. */
export function customKind(plural: string, kind: string) {
  const group = `${plural}.example`
  const schema = {
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    },
  }
  return {
    definition: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: 'Cluster',
        names: { plural, kind },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    },
    resource: (name: string, spec: object) => ({ apiVersion: `${group}/v1`, kind, metadata: { name }, spec }),
  }
}
