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
  const object = (apiVersion: string, kind: string, fields: object = {}, metadata: object = {}) => ({
    apiVersion,
    kind,
    metadata: { name: 'web', namespace, ...metadata },
    ...fields,
  })
  const resources = { requests: { cpu: '1000m', memory: '0.5Gi' }, limits: { cpu: 2 } }
  const env = [{ name: 'EMPTY', value: '' }]
  const containers = [{ name: 'main', image: 'example/app:1', env, resources, command: [] }]
  const labels = { app: 'web' }
  const pod = { metadata: { labels }, spec: { serviceAccountName: 'web', containers } }
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } }
  const rbac = 'rbac.authorization.k8s.io'
  const roleRef = { apiGroup: rbac, kind: 'Role', name: 'web' }
  const backend = { service: { name: 'web', port: { number: 80 } } }
  const rule = { host: 'web.example', http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'nobody' }
  const db = { metadata: { labels: { app: 'db' } }, spec: { containers } }
  const set = { replicas: 0, serviceName: 'web', selector: { matchLabels: { app: 'db' } }, template: db }
  const templates = [{ metadata: { name: 'd' }, spec: { ...claim, resources: { requests: { storage: '1Gi' } } } }]
  return [
    object('v1', 'ConfigMap', { data: { a: '1' } }, { name: 'ordinary' }),
    object('v1', 'Secret', { stringData: { password: 'x' } }),
    object('v1', 'ServiceAccount'),
    service({ ports: [{ port: 80, targetPort: 'http' }] }, 'web', namespace),
    object(
      'apps/v1',
      'Deployment',
      { spec: { selector: { matchLabels: labels }, template: pod }, status: {} },
      { creationTimestamp: null },
    ),
    object('v1', 'Pod', { spec: { containers } }, { name: 'bare' }),
    job('web', namespace, 1),
    object('v1', 'PersistentVolumeClaim', { spec: { ...claim, storageClassName: '' } }),
    object(`${rbac}/v1`, 'Role', { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }),
    object(`${rbac}/v1`, 'RoleBinding', { roleRef, subjects: [{ kind: 'ServiceAccount', name: 'web', namespace }] }),
    object('networking.k8s.io/v1', 'NetworkPolicy', {
      spec: { podSelector: {}, ingress: [], policyTypes: ['Ingress'] },
    }),
    object('networking.k8s.io/v1', 'Ingress', { spec: { rules: [rule] } }),
    object('autoscaling/v2', 'HorizontalPodAutoscaler', { spec: { scaleTargetRef, maxReplicas: 3 } }),
    object('policy/v1', 'PodDisruptionBudget', {
      spec: { minAvailable: '50%', selector: { matchLabels: { app: 'nobody' } } },
    }),
    object('batch/v1', 'CronJob', {
      spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: job('web', namespace, 1).spec } },
    }),
    object('apps/v1', 'StatefulSet', { spec: { ...set, volumeClaimTemplates: templates } }, { name: 'db' }),
    object('v1', 'ResourceQuota', { spec: { hard: { 'count/secrets': '1k' } } }),
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
