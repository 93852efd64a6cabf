"""The environment that runs any task, its scenes, its episodes and its Gymnasium wrapper."""
