import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'shiro_jupyter:plugin',
  description: 'A side panel and cell views for the agent in the kernel.',
  autoStart: true,
  activate: (_app: JupyterFrontEnd) => undefined
};

export default plugin;
