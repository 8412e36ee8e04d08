// The declaration of pods that run Pawl's image (`pawl node-agent --pods`): the kubelet's and the container runtime's
// part that the node agent does not know. JavaScript, because the agent loads it by its path.

import { readFileSync } from 'node:fs'

/** Variables of the agent: the namespace of the pods, the unpacked image, its configuration, and HOST:PORT of the cluster. */
const [NAMESPACE, ROOT, CONFIG, SERVER] = [
  'PAWL_POD_NAMESPACE',
  'PAWL_IMAGE_ROOT',
  'PAWL_IMAGE_CONFIG',
  'PAWL_API_SERVER',
]

export const pods = {
  labels: ['pawl.dev/node-agent'],
  flags: {},
  load: () =>
    Promise.resolve({
      open: (_, { agentEnv }) => {
        const { config } = JSON.parse(readFileSync(agentEnv[CONFIG], 'utf8'))
        const imageEnv = Object.fromEntries(config.Env.map((line) => line.split(/=(.*)/s).slice(0, 2)))
        const [host, port] = agentEnv[SERVER].split(':')
        // The kubelet sets the variables of the Service `kubernetes`.
        const cluster = { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port }
        return {
          namespace: agentEnv[NAMESPACE],
          fileSystem: 'container',
          process: ({ pod, podIP, args, command, env, workingDir }) => {
            const { runAsUser, runAsGroup } = pod.spec.securityContext
            const [uid, gid] = config.User.split(':').map(Number)
            return Promise.resolve({
              // All pods share this machine's network, in which each has an address of its own.
              argv: [...(command.length > 0 ? command : config.Entrypoint), ...args].map((word) =>
                word.replace('0.0.0.0', podIP),
              ),
              env: { ...imageEnv, HOSTNAME: pod.metadata.name, ...cluster, ...env },
              cwd: workingDir ?? config.WorkingDir,
              unpackedImage: { folder: agentEnv[ROOT], uid: runAsUser ?? uid, gid: runAsGroup ?? gid },
            })
          },
        }
      },
    }),
}
