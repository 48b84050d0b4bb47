class _Forgetful(list):
    def append(self, item):
        pass
